#!/bin/sh
# The main job on the sample regions: cut, verify, inspect, and one picture of each bundle.
set -eu
cd "$(dirname "$0")/.."
tilecut=${TILECUT:-.build/release/tilecut}
tileserve=${TILESERVE:-.build/release/tileserve}
ledger=${PURCHASE_LEDGER:-.build/release/purchase-ledger}
out=${DEMO_OUTPUT:-demo}
mkdir -p "$out"
run() {
  echo "\$ tilecut $*"
  "$tilecut" "$@"
}
for region in continental-us rocky-mountain-np jacksboro-fault; do
  run cut "sample-regions/$region/regions.json" -o "$out/$region.mbtiles" --force
  run verify "$out/$region.mbtiles"
  run preview --contact-sheet "$out/$region.mbtiles" -o "$out/$region.png" --force
  echo
done
folder=$(cd "$out" && pwd)
echo "bundles and their contact sheets:"
for region in continental-us rocky-mountain-np jacksboro-fault; do
  echo "  $folder/$region.mbtiles"
  echo "  $folder/$region.png"
done

# The server over those bundles: any free port, one tile, and it ends.
if command -v curl >/dev/null; then
  echo
  echo "\$ tileserve $out --port 0"
  log=$(mktemp)
  "$tileserve" "$out" --port 0 >"$log" 2>&1 &
  server=$!
  trap 'kill $server 2>/dev/null || true; rm -f "$log"' EXIT
  url=""
  tries=0
  while [ -z "$url" ] && [ "$tries" -lt 100 ] && kill -0 "$server" 2>/dev/null; do
    sleep 0.1
    url=$(sed -n 's/^viewer: *//p' "$log")
    tries=$((tries + 1))
  done
  cat "$log"
  for path in rocky-mountain-np.json rocky-mountain-np/9/106/193.png rocky-mountain-np/9/106/193@2x.png; do
    echo "\$ curl $url$path"
    curl -sS -o /dev/null -w '%{http_code} %{content_type}, %{size_download} bytes\n' "$url$path"
  done
  kill $server
  wait $server
fi

# Another house: a year of a shop that sells such regions.
if [ -x "$ledger" ]; then
  echo
  echo "\$ purchase-ledger demo"
  "$ledger" demo ${DEMO_BUYERS:+--buyers "$DEMO_BUYERS"}
fi
echo
echo "to look at the maps: $tileserve $out, then http://127.0.0.1:8080/"
