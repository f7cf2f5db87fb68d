#!/bin/bash
# Cuts one sample region with nothing but tilecut, and shows what came out: the first thing that `make demo` does.
# BUILT says which build is used: debug, which takes a third of the time and which the tests need anyway, or release.
set -eu
cd "$(dirname "$0")/.."
# The time counts from the call of make, which installs packages first.
started=${DEMO_STARTED:-$(date +%s)}
built=${BUILT:-debug}
scripts/build.sh "--$built" tilecut
tilecut=.build/$built/tilecut
out=${DEMO_OUTPUT:-demo}
mkdir -p "$out/first-map"
map=$out/first-map/rocky-mountain.mbtiles
picture=$out/first-map/rocky-mountain.png
run() {
  echo "\$ tilecut $*"
  "$tilecut" "$@"
}
run cut sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif -o "$map" --name "Rocky Mountain" --force --progress none
run preview "$map" -o "$picture" --force
"$tilecut" inspect "$map" | sed -n '/^zoom/,$p'
folder=$(cd "$out/first-map" && pwd)
echo
echo "the first map:    $folder/rocky-mountain.mbtiles"
echo "a picture of it:  $folder/rocky-mountain.png"
seconds=$(($(date +%s) - started))
echo "after $seconds s; next come the server, the ledger and the shop, which need more packages"
[ $seconds -le 180 ] || echo "three minutes are usual on two quiet cores; tilecut doctor says what this machine has"
echo
