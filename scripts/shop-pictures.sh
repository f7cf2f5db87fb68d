#!/bin/bash
# Takes docs/images/shop-*.png: the pages of the sample shop (sample-regions/shop) in headless Chromium.
#
#   shop-pictures.sh [FOLDER]     FOLDER instead of docs/images; BUILT names the folder of the built commands
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs/images}
built=${BUILT:-.build/release}
work=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "shop-pictures.sh: Chromium is missing: apt-get install chromium" >&2
  exit 1
}
"$built/tilecut" build sample-regions/regions.json -o "$work/catalogue" --progress none
"$built/purchase-ledger" init --ledger "$work/ledger.sqlite" >/dev/null
"$built/mapstore" serve --catalogue "$work/catalogue" --ledger "$work/ledger.sqlite" --port 0 \
  --config sample-regions/shop/mapstore.json >"$work/log" 2>&1 &
server=$!
url=""
for _ in $(seq 100); do
  url=$(sed -n 's|^catalogue: \(.*\)/catalogue$|\1|p' "$work/log")
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || {
  cat "$work/log" >&2
  exit 1
}
take() { # take NAME PATH WIDTH HEIGHT [FLAG...]
  local name=$1 path=$2 size=$3,$4
  shift 4
  local flags=()
  # Chromium refuses to make its sandbox for root, the user of containers.
  [ "$(id -u)" != 0 ] || flags=(--no-sandbox)
  timeout 120 "$browser" --headless=new --disable-gpu --hide-scrollbars --lang=en --virtual-time-budget=5000 \
    --user-data-dir="$work/profile" ${flags[@]+"${flags[@]}"} "$@" --window-size="$size" \
    --screenshot="$work/$name.png" "$url$path" >/dev/null 2>&1
  # Palettes of 256 colours (apt-get install pngquant): the repository has no use for more.
  if command -v pngquant >/dev/null; then pngquant --force --output "$work/$name.png" 256 "$work/$name.png"; fi
  install -m 644 "$work/$name.png" "$out/$name.png"
  echo "$out/$name.png"
}
take shop-catalogue /catalogue 1200 960
take shop-region /regions/rocky-mountain-np 1200 1180
# A window of Chromium's is at least 500 pixels wide.
take shop-phone /regions/colorado 500 1100
take shop-dark "/catalogue?lang=de" 1200 960 --blink-settings=preferredColorScheme=0
