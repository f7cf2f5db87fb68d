#!/bin/bash
# Writes one small file of every kind that the commands of this state write: make-fixtures.sh FOLDER. The results are
# committed under Tests/CommandTests/Fixtures; FixtureTests opens them with all later states. Files of a state are made
# once and never again, since a later program writes others.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-$PWD/.build/debug}
mkdir -p "$1"
out=$(cd "$1" && pwd)
[ -z "$(ls -A "$out")" ] || { echo "$out is not empty; fixtures of a state are made once" >&2; exit 73; }
work=$(mktemp -d)
server=""
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
app=org.example.maps
export MAPSTORE_PASSWORD="a long password"

# A picture of large flat areas: $1 file, $2 a number that changes part of it. Small as PNG, and different from tile to tile.
picture() {
  LC_ALL=C awk -v seed="$2" 'BEGIN {
    printf "P6\n192 192\n255\n"
    for (y = 0; y < 192; y++) for (x = 0; x < 192; x++) {
      blue = x > 96 && y > 96 ? seed * 40 : 80
      printf "%c%c%c", 1 + int(x / 24) * 31, 1 + int(y / 24) * 31, blue
    }
  }' >"$1.ppm"
  gdal_translate -q -a_srs EPSG:4326 -a_ullr 10 50 13 47 "$1.ppm" "$1"
}
picture park.tif 1
picture fault.tif 2
picture park-2.tif 3
cat >places.geojson <<'END'
{"type": "FeatureCollection", "features": [
  {"type": "Feature", "properties": {"name": "Mill Hill", "kind": "peak"}, "geometry": {"type": "Point", "coordinates": [11.5, 48.5]}},
  {"type": "Feature", "properties": {"name": "Old Bridge", "kind": "bridge"}, "geometry": {"type": "Point", "coordinates": [12.5, 47.5]}}]}
END
cat >regions.json <<END
{"version": 1, "defaults": {"edition": "2026.1", "zoom": [0, 7], "attribution": "Drawn for tests"},
 "regions": [
  {"id": "park", "productId": "$app.park", "title": "Park", "category": "park", "sources": ["park.tif"],
   "gazetteers": ["places.geojson"], "packBytes": 256000},
  {"id": "fault", "productId": "$app.fault", "title": "Fault", "category": "relief", "sources": ["fault.tif"]}]}
END

# --- bundles
mkdir bundles
quietly() { "$@" --progress none >last.log 2>&1 || { cat last.log >&2; echo "failed: $*" >&2; exit 1; }; }
quietly "$bin/tilecut" build regions.json -o catalogue
cp catalogue/park-2026.1.mbtiles bundles/park.mbtiles
quietly "$bin/tilecut" convert bundles/park.mbtiles bundles/park.pmtiles
quietly "$bin/tilecut" convert bundles/park.mbtiles bundles/park.gpkg
quietly "$bin/tilecut" convert bundles/park.mbtiles bundles/park/
quietly "$bin/tilecut" cut park.tif --matrix degrees --format webp -o bundles/degrees.mbtiles
quietly "$bin/tilecut" cut park.tif --zoom 0-7 --resume -o bundles/resumed.mbtiles
"$bin/tilecut" plan park.tif --zoom 0-7 --shard-tiles 12 -o bundles/plan.json >last.log
(cd bundles && for shard in $("$bin/tilecut" missing plan.json --json | tr -d '[]"' | tr ',' ' '); do
  quietly "$bin/tilecut" cut --plan plan.json --shard "$shard"
done && quietly "$bin/tilecut" merge --plan plan.json && rm -f last.log)
# Sources are not part of the fixtures, and the folder of this script is nobody's.
sed -i "s|$work|/fixture|g" bundles/plan.json catalogue/.tilecut/hashes.json

# The first address that a server prints into its log, without a slash at its end, once it is there.
address_in() {
  for _ in $(seq 300); do
    if grep -q 'http:' "$1"; then
      sed -n 's/^[^:]*: *\(http:[^ ]*\)$/\1/p' "$1" | head -1 | sed 's|/$||'
      return
    fi
    sleep 0.1
  done
  cat "$1" >&2
  exit 1
}

# --- a store, its ledger and two devices
"$bin/purchase-ledger" init --ledger ledger.sqlite >last.log
"$bin/mapstore" client store-key appstore --bundle-id $app >last.log
for key in link grant; do head -c 32 /dev/urandom >$key.key; done
cat >store.json <<END
{"catalogue": "catalogue", "ledger": "ledger.sqlite", "port": 0, "rootCertificates": ["appstore.root.der"],
 "bundleId": "$app", "hmacKeyFiles": ["link.key"], "grantKeyFiles": ["grant.key"], "drainTimeout": 1}
END
touch serve.log origin.log upstream.log
"$bin/mapstore" serve --config store.json >serve.log 2>&1 &
server=$!
url=$(address_in serve.log)
url=${url%/catalogue}
device() { local folder=$1; shift; "$bin/mapstore" client "$@" --folder "$folder" >last.log 2>&1 || { cat last.log >&2; exit 1; }; }
device phone register anna --server "$url"
device tablet register bert --server "$url"
device phone buy --store-key appstore park fault
device tablet buy --store-key appstore fault
device phone sync --all --progress none
device tablet sync --all --progress none
device tablet refund --store-key appstore fault

# --- a new edition by patch: the tablet stays at the old one
sed -i 's|"sources": \["park.tif"\]|"edition": "2026.2", "sources": ["park-2.tif"]|' regions.json
quietly "$bin/tilecut" build regions.json -o catalogue --patches-from catalogue
cp catalogue/*.patch bundles/
kill "$server" && wait "$server" || true
server=""

# --- a bundle of tiles of another server
mkdir origin upstream
cp bundles/park.mbtiles origin/
TILESERVE_DRAIN_DELAY=0 "$bin/tileserve" origin --port 0 >origin.log 2>&1 &
server=$!
address=$(address_in origin.log)
echo "{\"url\": \"$address/park/{z}/{x}/{y}.png\", \"format\": \"png\", \"maxzoom\": 7}" >upstream/far.upstream.json
TILESERVE_DRAIN_DELAY=0 "$bin/tileserve" upstream --port 0 >upstream.log 2>&1 &
second=$!
near=$(address_in upstream.log)
for tile in 0/0/0 1/1/0 2/2/1; do curl -sSf -o /dev/null "$near/far/$tile.png"; done
sleep 1
kill "$second" "$server" && wait "$second" "$server" || true
server=""
cp -r upstream "$out/"

# --- a ledger of both stores, and what it says of itself
"$bin/purchase-ledger" demo --buyers 2 --output ledger-of-both >last.log
rm ledger-of-both/store.jsonl ledger-of-both/evidence.jsonl
"$bin/purchase-ledger" backup --ledger ledger.sqlite backup.sqlite >last.log 2>&1
cp backup.sqlite "$out/ledger.sqlite"
cp backup.sqlite ledger-of-both.sqlite
"$bin/purchase-ledger" verify --ledger ledger-of-both.sqlite --signatures --root-certificate appstore.root.der \
  --bundle-id $app --json >"$out/ledger-verified.json"
cat >tileserve.json <<'END'
{"path": "bundles", "port": 0, "cache": "32MB", "prefetch": "auto", "missing": "404", "drainDelay": 0,
 "tilesets": {"park": {"missing": "overzoom"}}}
END

# A shard's root pixels are only for the levels above it, which are made.
rm -f bundles/plan.shards/*.rgba
find . -name '*-shm' -delete
cp -r bundles catalogue phone tablet ledger-of-both store.json tileserve.json appstore appstore.root.der \
  appstore.sales.jsonl link.key grant.key regions.json "$out/"
echo "$url" >"$out/server-url.txt"
du -sh "$out"
