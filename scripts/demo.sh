#!/bin/sh
# The main job on the sample regions: cut, verify, inspect, and one picture of each bundle.
set -eu
cd "$(dirname "$0")/.."
tilecut=${TILECUT:-.build/release/tilecut}
out=${DEMO_OUTPUT:-demo}
mkdir -p "$out"
run() {
  echo "\$ tilecut $*"
  "$tilecut" "$@"
}
for region in continental-us rocky-mountain-np jacksboro-fault; do
  run cut "sample-regions/$region/regions.json" -o "$out/$region.mbtiles" --force
  run verify "$out/$region.mbtiles"
  run contact-sheet "$out/$region.mbtiles" -o "$out/$region.png" --force
  echo
done
folder=$(cd "$out" && pwd)
echo "bundles and their contact sheets:"
for region in continental-us rocky-mountain-np jacksboro-fault; do
  echo "  $folder/$region.mbtiles"
  echo "  $folder/$region.png"
done
