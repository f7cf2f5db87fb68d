#!/bin/bash
# Ours against vips dzsave and gdal in one run, interleaved. Needs BENCH_RASTERS: a folder with the four benchmark rasters (docs/performance.md says how they are made).
set -euo pipefail
cd "$(dirname "$0")/.."
rasters=${BENCH_RASTERS:-}
rounds=${BENCH_ROUNDS:-3}
tilecut=$(pwd)/.build/release/tilecut
if [ -z "$rasters" ] || [ ! -f "$rasters/b_imagery_3857.tif" ]; then
  echo "bench skipped: BENCH_RASTERS does not name a folder with b_imagery_3857.tif (docs/performance.md says how to make it)"
  exit 0
fi
if ! command -v vips >/dev/null || [ ! -x /usr/bin/time ]; then
  echo "bench skipped: needs vips and GNU time (apt-get install libvips-tools time)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/tilecut-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

# measure NAME COMMAND...: appends "seconds kilobytes" to $work/NAME.times
measure() {
  local name=$1
  shift
  /usr/bin/time -f '%e %M' -o "$work/time" "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  tail -1 "$work/time" >>"$work/$name.times"
}
median() { awk -v column="$2" '{ print $column }' "$work/$1.times" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
highest() { awk -v column="$2" '$column > m { m = $column } END { print m }' "$work/$1.times"; }

echo "raster b: 16,384 x 16,384 Web Mercator imagery to PNG, $rounds rounds, medians"
cat "$rasters/b_imagery_3857.tif" >/dev/null
for round in $(seq "$rounds"); do
  rm -rf "$work/ours.mbtiles" "$work/vips" "$work/vips.dzi"
  measure ours "$tilecut" cut "$rasters/b_imagery_3857.tif" -o "$work/ours.mbtiles" --progress none
  measure vips vips dzsave "$rasters/b_imagery_3857.tif" "$work/vips" --layout google --tile-size 256 --suffix .png
done
ours_bytes=$(stat -c %s "$work/ours.mbtiles")
vips_bytes=$(find "$work/vips" -name '*.png' -printf '%s\n' | awk '{ s += $1 } END { print s }')
printf 'tilecut cut   %6.1f s  %6.1f MB peak  %9d bytes\n' "$(median ours 1)" "$(highest ours 2 | awk '{ print $1 / 1024 }')" "$ours_bytes"
printf 'vips dzsave   %6.1f s  %6.1f MB peak  %9d bytes\n' "$(median vips 1)" "$(highest vips 2 | awk '{ print $1 / 1024 }')" "$vips_bytes"
awk -v a="$(median ours 1)" -v b="$(median vips 1)" -v x="$ours_bytes" -v y="$vips_bytes" \
  'BEGIN { printf "ratio         %6.2f times as fast, %.3f of the bytes (wanted: at least 2.2, at most 0.85)\n", b / a, x / y }'
rm -rf "$work/vips"

for raster in a_relief_4326 c_flat_3857 d_land_rgba_4326; do
  [ -f "$rasters/$raster.tif" ] || continue
  measure "$raster" "$tilecut" cut "$rasters/$raster.tif" -o "$work/$raster.mbtiles" --progress none
  printf '%-18s %6.1f s  %6.1f MB peak  %9d bytes, %s\n' "$raster" "$(median "$raster" 1)" \
    "$(highest "$raster" 2 | awk '{ print $1 / 1024 }')" "$(stat -c %s "$work/$raster.mbtiles")" "$(cut -d: -f2 "$work/log" | cut -d, -f1)"
done

echo
echo "parts, on the tiles of raster b"
.build/release/TileBench "$work/ours.mbtiles"
if [ -f "$work/c_flat_3857.mbtiles" ]; then
  echo "parts, on the tiles of raster c"
  .build/release/TileBench "$work/c_flat_3857.mbtiles"
fi
