#!/bin/sh
# Installs the system libraries that the package links, when any is missing. Debian and its relatives only; says what is missing elsewhere.
# The list is that of the apt providers in Package.swift.
set -eu
packages="pkg-config libsqlite3-dev libpng-dev zlib1g-dev libtiff-dev libgeotiff-dev libproj-dev libjpeg62-turbo-dev libwebp-dev libdeflate-dev"
# What the tests compare with and talk through: the field's own reader of bundles and rasters, an HTTP client, certificates.
[ "${1:-}" = --tests ] && packages="$packages gdal-bin sqlite3 curl openssl"
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "please install:$missing" >&2
  exit 1
fi
echo "installing:$missing"
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# Word splitting is wanted: one argument a package.
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
