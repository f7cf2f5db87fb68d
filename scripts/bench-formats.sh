#!/bin/bash
# Seconds and bytes of every format of tiles on the four benchmark rasters, one after the other in each round. Needs BENCH_RASTERS (docs/reference/performance.md).
# BENCH_ROUNDS (1) rounds, medians. A cell has the seconds on the clock, those of all processors (user and system), and the MB of the file.
set -euo pipefail
cd "$(dirname "$0")/.."
rasters=${BENCH_RASTERS:-}
rounds=${BENCH_ROUNDS:-1}
tilecut=${TILECUT:-$(pwd)/.build/release/tilecut}
if [ ! -d "$rasters" ]; then
  echo "bench-formats skipped: BENCH_RASTERS names no folder of rasters (docs/reference/performance.md says how they are made)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/tilecut-formats-XXXXXX")
trap 'rm -rf "$work"' EXIT
formats=("" "--colors 256" "--colors 64" "--format jpeg" "--format auto" "--format webp --quality 85" "--format webp" "--tile-size 512" "--linear"
  "--resampling cubic" "--resampling lanczos" "--resampling gauss")
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo "| options | $(ls "$rasters" | sed -n 's/^\([a-d]\)_.*\.tif$/\1: wall s, CPU s, MB/p' | paste -sd'|' | sed 's/|/ | /g') |"
echo "|---|---|---|---|---|"
for round in $(seq "$rounds"); do
  for raster in "$rasters"/[a-d]_*.tif; do
    name=$(basename "$raster" | cut -c1)
    cat "$raster" >/dev/null
    for index in "${!formats[@]}"; do
      # shellcheck disable=SC2086
      /usr/bin/time -f '%e %U %S' -o "$work/time" "$tilecut" cut "$raster" -o "$work/out.mbtiles" --force --progress none ${formats[$index]} >/dev/null 2>"$work/log" ||
        { cat "$work/log"; exit 1; }
      tail -1 "$work/time" | awk '{ print $1 }' >>"$work/$name-$index.wall"
      tail -1 "$work/time" | awk '{ print $2 + $3 }' >>"$work/$name-$index.cpu"
      stat -c %s "$work/out.mbtiles" >"$work/$name-$index.bytes"
    done
  done
done
for index in "${!formats[@]}"; do
  row="| ${formats[$index]:-png (the default)}"
  for raster in "$rasters"/[a-d]_*.tif; do
    name=$(basename "$raster" | cut -c1)
    row="$row | $(printf '%.1f, %.1f' "$(median "$work/$name-$index.wall")" "$(median "$work/$name-$index.cpu")"), $(awk '{ printf "%.1f", $1 / 1e6 }' "$work/$name-$index.bytes")"
  done
  echo "$row |"
done
