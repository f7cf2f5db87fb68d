#!/bin/sh
# Installs the map libraries of tileserve's viewer pages: Leaflet by apt, and MapLibre GL, which Debian does not have, from a Python wheel
# into .build/web/maplibre-gl. Without MapLibre the pages of raster tilesets work all the same, so its absence is no failure.
set -eu
cd "$(dirname "$0")/.."
wheel="maplibre==0.3.6"
target=.build/web/maplibre-gl

if [ ! -r /usr/share/javascript/leaflet/leaflet.js ]; then
  if command -v apt-get >/dev/null; then
    echo "installing: libjs-leaflet"
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends libjs-leaflet >/dev/null ||
      echo "libjs-leaflet could not be installed; the pages of raster tilesets will say so"
  else
    echo "please install Leaflet and name its folder in TILESERVE_WEB; the pages of raster tilesets need it"
  fi
fi

if [ -r "$target/maplibre-gl.js" ] && [ -r "$target/maplibre-gl.css" ] && [ -r "$target/pywidget.js" ]; then exit 0; fi
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "pip is missing, so MapLibre GL is not installed; only the pages of vector tilesets need it"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "fetching MapLibre GL ($wheel)"
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$wheel" 2>"$work/log"; then
  echo "MapLibre GL could not be fetched ($(tail -n 1 "$work/log")); only the pages of vector tilesets need it"
  exit 0
fi
# Files of the wheel, which is a zip archive; they appear under their names only when they are whole. pywidget.js, for tests alone, is MapLibre GL with the
# pmtiles library, which reads archives from plain web servers.
python3 - "$work" "$target" <<'PYTHON'
import glob, os, sys, zipfile
work, target = sys.argv[1:]
os.makedirs(target, exist_ok=True)
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
    for name in ("maplibre-gl.css", "maplibre-gl.js", "pywidget.js"):
        partial = f"{target}/.{name}.partial"
        with open(partial, "wb") as file:
            file.write(wheel.read("maplibre/srcjs/" + name))
        os.replace(partial, f"{target}/{name}")
PYTHON
