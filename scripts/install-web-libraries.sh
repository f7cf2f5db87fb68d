#!/bin/sh
# Puts the map libraries of the servers' pages, with their licences, into .build/web, where the built commands look for
# them: Leaflet from Debian's package libjs-leaflet, MapLibre GL, which Debian does not have, from a Python wheel.
# Without one of them the other pages work all the same, so its absence is no failure.
set -eu
cd "$(dirname "$0")/.."
wheel="maplibre==0.3.6"
leaflet=.build/web/leaflet
maplibre=.build/web/maplibre-gl
system=/usr/share/javascript/leaflet

# copy FILE NAME: a file appears under its name only when it is whole.
copy() {
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2.partial"
  mv "$2.partial" "$2"
}

fetch_leaflet() {
  if [ -r "$system/leaflet.js" ]; then
    files=$system
    licence=/usr/share/doc/libjs-leaflet/copyright
  elif command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    # Unpacked, not installed: that needs no rights, and leaves the system as it is.
    echo "fetching Leaflet (libjs-leaflet)"
    (cd "$work" && { apt-get download -qq libjs-leaflet >log 2>&1 || { apt-get update -qq && apt-get download -qq libjs-leaflet; } >log 2>&1; }) &&
      dpkg-deb -x "$work"/libjs-leaflet_*.deb "$work/leaflet" || {
      echo "Leaflet could not be fetched ($(tail -n 1 "$work/log")); pages of raster tilesets show no map without it"
      return
    }
    files=$work/leaflet$system
    licence=$work/leaflet/usr/share/doc/libjs-leaflet/copyright
  else
    echo "please name a folder with Leaflet in TILESERVE_WEB and MAPSTORE_WEB; pages of raster tilesets need it"
    return
  fi
  [ ! -r "$licence" ] || copy "$licence" "$leaflet/LICENCE"
  for name in layers layers-2x marker-icon marker-icon-2x marker-shadow; do
    [ ! -r "$files/images/$name.png" ] || copy "$files/images/$name.png" "$leaflet/images/$name.png"
  done
  copy "$files/leaflet.css" "$leaflet/leaflet.css"
  minified=$files/leaflet.min.js
  [ -r "$minified" ] || minified=$files/leaflet.js
  copy "$minified" "$leaflet/leaflet.js"
}

fetch_maplibre() {
  if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
    echo "pip is missing, so MapLibre GL is not installed; only the pages of vector tilesets need it"
    return
  fi
  echo "fetching MapLibre GL ($wheel)"
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$wheel" 2>"$work/log"; then
    echo "MapLibre GL could not be fetched ($(tail -n 1 "$work/log")); only the pages of vector tilesets need it"
    return
  fi
  # Files of the wheel, which is a zip archive. pywidget.js, for tests alone, is MapLibre GL with the pmtiles library,
  # which reads archives from plain web servers. The wheel lacks MapLibre's licence, BSD with three clauses.
  python3 - "$work" "$maplibre" <<'PYTHON'
import glob, os, sys, zipfile
work, target = sys.argv[1:]
os.makedirs(target, exist_ok=True)
def write(name, content):
    partial = f"{target}/.{name}.partial"
    with open(partial, "wb") as file:
        file.write(content)
    os.replace(partial, f"{target}/{name}")
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
    for name in ("maplibre-gl.css", "pywidget.js", "maplibre-gl.js"):
        write(name, wheel.read("maplibre/srcjs/" + name))
PYTHON
  cat >"$work/licence" <<'LICENCE'
MapLibre GL JS: Copyright (c) 2020, MapLibre contributors; (c) 2020, Mapbox (code of mapbox-gl-js 1.13 and earlier);
(c) 2010-2016, Mike Bostock (parts of d3-color). All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products
   derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
LICENCE
  copy "$work/licence" "$maplibre/LICENCE"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -r "$leaflet/leaflet.js" ] || fetch_leaflet
if [ ! -r "$maplibre/maplibre-gl.js" ] || [ ! -r "$maplibre/LICENCE" ]; then fetch_maplibre; fi
