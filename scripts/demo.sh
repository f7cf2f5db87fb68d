#!/bin/sh
# Builds a catalogue of the sample regions, verifies it, asks it for packs, serves it, and sells its regions.
set -eu
cd "$(dirname "$0")/.."
built=.build/${BUILT:-release}
tilecut=${TILECUT:-$built/tilecut}
tileserve=${TILESERVE:-$built/tileserve}
ledger=${PURCHASE_LEDGER:-$built/purchase-ledger}
mapstore=${MAPSTORE:-$built/mapstore}
out=${DEMO_OUTPUT:-demo}
mkdir -p "$out"
run() {
  echo "\$ tilecut $*"
  "$tilecut" "$@"
}
# All regions, or those that DEMO_REGIONS names.
only=${DEMO_REGIONS:+--region $DEMO_REGIONS}
manifest=sample-regions/regions.json
# shellcheck disable=SC2086
run build "$manifest" -o "$out" --progress plain $only
echo
echo "again, without changes:"
# shellcheck disable=SC2086
run build "$manifest" -o "$out" --progress none $only
echo
verified=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for bundle in "$out"/*.mbtiles; do
  "$tilecut" verify "$bundle" >"$log" || { cat "$log"; exit 1; }
  verified=$((verified + 1))
done
echo "\$ tilecut verify: $verified bundles, of which the last says"
cat "$log"
echo
echo "the packs for Longs Peak:"
run packs "$out" --point=-105.615,40.255 --region rocky-mountain-np
echo
folder=$(cd "$out" && pwd)
echo "the catalogue, and a preview of each region beside its bundle:"
echo "  $folder/catalogue.json"
set -- "$folder"/*.png
echo "  $1 and so on"

# Serves those bundles on a free port, asks for a description and two tiles, and ends the server.
if command -v curl >/dev/null; then
  echo
  echo "\$ tileserve $out --port 0"
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
  map=rocky-mountain-np-2026.1
  for path in $map.json $map/9/106/193.png $map/9/106/193@2x.png; do
    echo "\$ curl $url$path"
    curl -sS -o /dev/null -w '%{http_code} %{content_type}, %{size_download} bytes\n' "$url$path"
  done
  kill $server
  wait $server
fi

# A year of a fake store, recorded and reconciled.
if [ -x "$ledger" ]; then
  echo
  echo "\$ purchase-ledger demo --buyers ${DEMO_BUYERS:-50}"
  "$ledger" demo --buyers "${DEMO_BUYERS:-50}"
fi
# The store itself, with its customers.
if [ -x "$ledger" ] && [ -x "$mapstore" ] && command -v curl >/dev/null; then
  echo
  TILECUT=$tilecut PURCHASE_LEDGER=$ledger MAPSTORE=$mapstore scripts/demo-store.sh "$out"
  echo
  echo "to see the map store, with a map of its regions: $mapstore serve --catalogue $out --ledger $out/.store/ledger.sqlite, then http://127.0.0.1:8090/catalogue"
fi
echo "to look at the maps: $tileserve $out, then http://127.0.0.1:8080/"
[ "$built" != .build/debug ] || echo "these commands, in $(pwd)/.build/debug, are builds without optimisation; make build makes the fast ones"
