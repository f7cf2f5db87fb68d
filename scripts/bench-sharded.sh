#!/bin/bash
# The same tiles as a tileset of shards, one PMTiles archive and one MBTiles file, served by one tileserve over loopback: requests for
# random tiles, in turns.
#
#   BENCH_RASTERS  a folder with b_imagery_3857.tif, in 64 shards; without it a sample region in 40, of small tiles
#   BENCH_SECONDS  of one measurement (10)      BENCH_ROUNDS   rounds, of which medians are printed (3)
#   BENCH_CONNECTIONS  (64)                     BENCH_SCRATCH  where the tiles are put (/tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
tilecut=${TILECUT:-$(pwd)/.build/release/tilecut}
tileserve=${TILESERVE:-$(pwd)/.build/release/tileserve}
raster=${BENCH_RASTERS:-}/b_imagery_3857.tif
options=(--shard-tiles 100)
if [ ! -f "$raster" ]; then
  raster=sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif
  options=(--zoom 0-14 --shard-tiles 100)
fi
if ! command -v wrk >/dev/null; then
  echo "bench-sharded skipped: needs wrk (scripts/install-packages.sh --bench)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/bench-sharded-XXXXXX")
declare -A pid=()
# shellcheck source=scripts/bench-servers.sh
. scripts/bench-servers.sh

mkdir "$work/maps"
"$tilecut" plan "$raster" "${options[@]}" -o "$work/maps/shards.json"
for number in $("$tilecut" missing "$work/maps/shards.json" | tr , '\n' | awk -F- '{ for (n = $1; n <= $NF; n++) print n }'); do
  "$tilecut" cut --plan "$work/maps/shards.json" --shard "$number" --progress none >/dev/null
done
for name in shards.tileset archive.pmtiles database.mbtiles; do "$tilecut" merge --plan "$work/maps/shards.json" -o "$work/maps/$name"; done
python3 scripts/export-tiles.py "$work/maps/database.mbtiles" --paths "$work/paths"

port=$(free_port)
"$tileserve" "$work/maps" --port "$port" --threads 2 >"$work/tileserve.log" 2>&1 &
pid[tileserve]=$!
for _ in $(seq 100); do if curl -s -o /dev/null "http://127.0.0.1:$port/ready"; then break; fi; sleep 0.1; done
# load NAME SECONDS: the line of random-tiles.lua
load() {
  timeout $(($2 + 30)) wrk -t 2 -c "${BENCH_CONNECTIONS:-64}" -d "${2}s" --timeout 10s -s scripts/random-tiles.lua \
    "http://127.0.0.1:$port" -- "$work/paths" "/$1" | grep '^result '
}
names="shards archive database"
for name in $names; do load "$name" 2 >/dev/null; done
for _ in $(seq "${BENCH_ROUNDS:-3}"); do
  for name in $names; do
    before=$(cpu "${pid[tileserve]}")
    result=$(load "$name" "${BENCH_SECONDS:-10}")
    echo "$result $(($(cpu "${pid[tileserve]}") - before))" |
      awk '{ printf "%.0f %.2f %.2f %d %.1f\n", $2 / $3 * 1e6, $4 / 1e3, $5 / 1e3, $6, $7 / $2 }' >>"$work/$name"
  done
done
figure() { awk -v column="$2" '{ print $column }' "$work/$1" | median; }
printf '  %-26s %11s %9s %9s %7s %12s\n' "" requests/s p50 p99 errors CPU/request
label() { case "$1" in shards) echo "tileset of shards" ;; archive) echo "one PMTiles archive" ;; database) echo "one MBTiles file" ;; esac; }
for name in $names; do
  printf '  %-26s %11s %6s ms %6s ms %7s %9s us\n' "$(label "$name")" "$(figure "$name" 1)" "$(figure "$name" 2)" "$(figure "$name" 3)" \
    "$(figure "$name" 4)" "$(figure "$name" 5)"
done
