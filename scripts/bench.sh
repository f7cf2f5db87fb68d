#!/bin/bash
# Ours against the peers on the four benchmark rasters, interleaved: vips dzsave, gdal2tiles.py, GDAL's MBTiles driver with gdaladdo, rio mbtiles. Needs BENCH_RASTERS, a folder
# with the rasters (docs/reference/performance.md says how they are made). A missing peer or raster is left out. BENCH_ROUNDS (3) rounds, medians; BENCH_PEERS names the peers to run.
set -euo pipefail
cd "$(dirname "$0")/.."
rasters=${BENCH_RASTERS:-}
rounds=${BENCH_ROUNDS:-3}
peers=${BENCH_PEERS:-vips-default vips-tuned gdal2tiles gdal-mbtiles rio-mbtiles}
tilecut=$(pwd)/.build/release/tilecut
if [ -z "$rasters" ] || [ ! -f "$rasters/b_imagery_3857.tif" ]; then
  echo "bench skipped: BENCH_RASTERS does not name a folder with b_imagery_3857.tif (docs/reference/performance.md says how to make it)"
  exit 0
fi
if [ ! -x /usr/bin/time ]; then
  echo "bench skipped: needs GNU time (apt-get install time; the peers: libvips-tools gdal-bin python3-gdal, pip install rio-mbtiles)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/tilecut-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

# measure NAME COMMAND...: appends "wall processor kilobytes" to $work/NAME.times
measure() {
  local name=$1
  shift
  /usr/bin/time -f '%e %U %S %M' -o "$work/time" "$@" >"$work/log" 2>&1 || { tail -5 "$work/log"; exit 1; }
  tail -1 "$work/time" | awk '{ print $1, $2 + $3, $4 }' >>"$work/$name.times"
}
median() { awk -v column="$2" '{ print $column }' "$work/$1.times" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
highest() { awk '$3 > m { m = $3 } END { printf "%.0f", m / 1024 }' "$work/$1.times"; }
file_bytes() { if [ -f "$1" ]; then stat -c %s "$1"; else find "$1" -name '*.png' -printf '%s\n' | awk '{ s += $1 } END { print s }'; fi; }

# peer NAME RASTER OUTPUT ZOOM: runs a peer; fails if it is not installed or cannot cut the raster.
peer() {
  case "$1" in
    vips-*)
      command -v vips >/dev/null || return 1
      # It does not warp.
      case "$2" in *4326*) return 1 ;; esac
      suffix=.png
      [ "$1" = vips-default ] || suffix='.png[compression=1,filter=sub]'
      measure "$r-$1" vips dzsave "$2" "$3" --layout google --tile-size 256 --suffix "$suffix"
      ;;
    gdal2tiles)
      command -v gdal2tiles.py >/dev/null || return 1
      measure "$r-$1" gdal2tiles.py -q -x --processes=2 -z "0-$4" "$2" "$3"
      ;;
    gdal-mbtiles)
      command -v gdaladdo >/dev/null || return 1
      measure "$r-$1" sh -c 'gdal_translate -q -of MBTILES -co TILE_FORMAT=PNG "$1" "$2.mbtiles" && gdaladdo -q -r average "$2.mbtiles" && mv "$2.mbtiles" "$2"' sh "$2" "$3"
      ;;
    rio-mbtiles)
      command -v rio >/dev/null && rio mbtiles --help >/dev/null 2>&1 || return 1
      measure "$r-$1" sh -c 'rio mbtiles -j 2 --format PNG --zoom-levels "0..$3" "$1" "$2.mbtiles" && mv "$2.mbtiles" "$2"' sh "$2" "$3" "$4"
      ;;
  esac
}
row() {
  printf '| %s | %s | %.2f | %.2f | %s | %d |\n' "$r" "$1" "$(median "$r-$1" 1)" "$(median "$r-$1" 2)" "$(highest "$r-$1")" "$2"
  echo "$2" >"$work/$r-$1.bytes"
}
# ratio OURS PEER COLUMN and bytes_ratio OURS PEER; nothing if the peer was not run.
ratio() { [ ! -f "$work/$r-$2.times" ] || awk -v a="$(median "$r-$1" "$3")" -v b="$(median "$r-$2" "$3")" 'BEGIN { printf "%.2f", a / b }'; }
bytes_ratio() { [ ! -f "$work/$r-$2.bytes" ] || awk -v a="$(cat "$work/$r-$1.bytes")" -v b="$(cat "$work/$r-$2.bytes")" 'BEGIN { printf "%.3f", a / b }'; }

echo "| raster | program | wall s | processor s | peak MB | bytes |"
echo "|---|---|---|---|---|---|"
: >"$work/summary"
for r in a b c d; do
  raster=$(ls "$rasters/${r}_"*.tif 2>/dev/null | head -1 || true)
  [ -n "$raster" ] || continue
  case "$r" in a | d) zoom=5 peer=gdal2tiles tuned=gdal2tiles wall=0.10 bytes=0.95 ;; b) zoom=6 peer=vips-default tuned=vips-tuned wall=0.40 bytes=0.84 ;; *) zoom=8 peer=vips-default tuned=vips-default wall=0.25 bytes=0.72 ;; esac
  [ "$r" != d ] || wall=0.08
  cat "$raster" >/dev/null
  ran=""
  for round in $(seq "$rounds"); do
    for effort in fast balanced small; do
      measure "$r-tilecut-$effort" "$tilecut" cut "$raster" -o "$work/$r-tilecut-$effort" --force --progress none --effort "$effort"
    done
    # As gdal2tiles warps, which does not interpolate.
    case "$r" in a | d) measure "$r-tilecut-nearest" "$tilecut" cut "$raster" -o "$work/$r-tilecut-nearest" --force --progress none --resampling nearest ;; esac
    for name in $peers; do
      rm -rf "$work/$r-$name" "$work/$r-$name.dzi"
      if peer "$name" "$raster" "$work/$r-$name" "$zoom"; then case " $ran " in *" $name "*) ;; *) ran="$ran $name" ;; esac; fi
    done
  done
  for effort in fast balanced small nearest; do
    [ ! -f "$work/$r-tilecut-$effort" ] || row "tilecut-$effort" "$(file_bytes "$work/$r-tilecut-$effort")"
  done
  for name in $ran; do row "$name" "$(file_bytes "$work/$r-$name")"; done
  tiles=$(sqlite3 "$work/$r-tilecut-balanced" 'SELECT sum(length(tile_data)) FROM images' 2>/dev/null || echo 0)
  {
    echo "$r: wall $(ratio tilecut-balanced "$tuned" 1) of $tuned (wanted $wall), bytes $(bytes_ratio tilecut-balanced "$peer") of $peer (wanted $bytes)," \
      "file / tiles $(awk -v a="$(cat "$work/$r-tilecut-balanced.bytes")" -v b="$tiles" 'BEGIN { printf "%.3f", (b > 0 ? a / b : 0) }') (wanted 1.04)"
    [ "$r" != b ] || echo "b, fast: wall $(ratio tilecut-fast vips-tuned 1) of vips-tuned (wanted 0.25), bytes $(bytes_ratio tilecut-fast vips-tuned) of it (wanted 1.02)"
    case "$r" in a | d) echo "$r, nearest as gdal2tiles: bytes $(bytes_ratio tilecut-nearest gdal2tiles)" ;; esac
  } >>"$work/summary"
  for name in $ran; do rm -rf "$work/$r-$name"; done
done
echo
cat "$work/summary"

for r in a b c d; do
  [ -f "$work/$r-tilecut-balanced" ] || continue
  echo
  .build/release/TileBench stages "$(ls "$rasters/${r}_"*.tif | head -1)"
done
for r in b c; do
  [ -f "$work/$r-tilecut-balanced" ] || continue
  echo
  echo "parts, on the tiles of raster $r"
  .build/release/TileBench "$work/$r-tilecut-balanced"
done
