#!/bin/bash
# Seconds and bytes of every format, container and kernel on the four benchmark rasters, one after the other in each
# round: BENCH_RASTERS (docs/reference/performance.md).
# BENCH_ROUNDS (1) rounds, medians. A cell has the seconds on the clock, those of all processors (user and system),
# and the MB of the output.
# BENCH_ONLY names rows by a regular expression. Kernels are measured on a and d alone, so that a round takes about a
# quarter of an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
rasters=${BENCH_RASTERS:-}
rounds=${BENCH_ROUNDS:-1}
only=${BENCH_ONLY:-.}
tilecut=${TILECUT:-$(pwd)/.build/release/tilecut}
if [ ! -d "$rasters" ]; then
  echo "bench-formats skipped: BENCH_RASTERS names no folder of rasters (docs/reference/performance.md says how they are made)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/tilecut-formats-XXXXXX")
trap 'rm -rf "$work"' EXIT
# Label | rasters | output | options of cut; textures are made of the default bundle.
rows=(
  "png (the default)|abcd|out.mbtiles|" "\`--colors 256\`|abcd|out.mbtiles|--colors 256" "\`--format jpeg\`|abcd|out.mbtiles|--format jpeg"
  "\`--format auto\`|abcd|out.mbtiles|--format auto" "\`--format jpeg+webp\`|abcd|out.mbtiles|--format jpeg+webp"
  "\`--format webp+png\`|abcd|out.mbtiles|--format webp+png"
  "\`--format webp --quality 85\`|abcd|out.mbtiles|--format webp --quality 85" "\`--format webp\`|abcd|out.mbtiles|--format webp"
  "\`--tile-size 512\`|abcd|out.mbtiles|--tile-size 512" "\`--scale-factor 2\`|abcd|out.mbtiles|--scale-factor 2" "\`-o x.pmtiles\`|abcd|out.pmtiles|" "\`-o x.gpkg\`|abcd|out.gpkg|" "\`-o x/\`|abcd|out/|"
  "\`--matrix degrees\`|abcd|out.mbtiles|--matrix degrees" "\`--linear\`|ad|out.mbtiles|--linear" "\`--resampling cubic\`|ad|out.mbtiles|--resampling cubic"
  "\`--resampling lanczos\`|ad|out.mbtiles|--resampling lanczos" "\`--resampling gauss\`|ad|out.mbtiles|--resampling gauss"
  "\`textures --effort fast\`|abcd|textures/|"
)
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
name() { basename "$1" | cut -c1; }

echo "| options | $(ls "$rasters" | sed -n 's/^\([a-d]\)_.*\.tif$/\1: wall s, CPU s, MB/p' | paste -sd'|' | sed 's/|/ | /g') |"
echo "|---|---|---|---|---|"
for _ in $(seq "$rounds"); do
  for raster in "$rasters"/[a-d]_*.tif; do
    cat "$raster" >/dev/null
    for index in "${!rows[@]}"; do
      IFS='|' read -r label on output options <<<"${rows[$index]}"
      [[ $on == *$(name "$raster")* && $label =~ $only ]] || continue
      words=("$tilecut" cut "$raster" -o "$work/$output" --force --progress none $options)
      if [ "$output" = textures/ ]; then
        [ -e "$work/map.mbtiles" ] || "$tilecut" cut "$raster" -o "$work/map.mbtiles" --progress none >/dev/null
        words=("$tilecut" textures "$work/map.mbtiles" -o "$work/$output" --effort fast --force)
      fi
      /usr/bin/time -f '%e %U %S' -o "$work/time" "${words[@]}" >/dev/null 2>"$work/log" || { cat "$work/log"; exit 1; }
      tail -1 "$work/time" | awk '{ print $1 }' >>"$work/$(name "$raster")-$index.wall"
      tail -1 "$work/time" | awk '{ print $2 + $3 }' >>"$work/$(name "$raster")-$index.cpu"
      find "$work/$output" -type f -printf '%s\n' | awk '{ bytes += $1 } END { print bytes }' >"$work/$(name "$raster")-$index.bytes"
      rm -rf "${work:?}/$output"
    done
    rm -f "$work/map.mbtiles"
  done
done
for index in "${!rows[@]}"; do
  row="| ${rows[$index]%%|*}"
  [[ ${rows[$index]%%|*} =~ $only ]] || continue
  for raster in "$rasters"/[a-d]_*.tif; do
    cell="$work/$(name "$raster")-$index"
    if [ -e "$cell.wall" ]; then
      row="$row | $(printf '%.1f, %.1f' "$(median "$cell.wall")" "$(median "$cell.cpu")"), $(awk '{ printf "%.1f", $1 / 1e6 }' "$cell.bytes")"
    else
      row="$row | -"
    fi
  done
  echo "$row |"
done
