#!/bin/bash
# Installs the system libraries that the package links, when any is missing. Debian and its relatives only; says what is missing elsewhere.
# The list is that of the apt providers in Package.swift.
set -eu
packages="pkg-config libsqlite3-dev libpng-dev zlib1g-dev libtiff-dev libgeotiff-dev libproj-dev libjpeg62-turbo-dev libwebp-dev libopenjp2-7-dev libdeflate-dev libexpat1-dev nettle-dev libunistring-dev libcurl4-gnutls-dev libastcenc-dev libcairo2-dev libpangocairo-1.0-0 librsvg2-2 fonts-open-sans"
# What the tests compare with: the field's own reader of bundles and rasters.
tests="gdal-bin sqlite3 curl openssl libimagequant0"
# What some of them need besides, and are left out without: a browser, which some machines have under another name, a validator of JSON Schema, and pip, which
# fetches what Debian does not have (install-python-tools.sh, install-web-libraries.sh).
tests_optional="python3-pip python3-jsonschema"
if ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  tests_optional="$tests_optional chromium"
fi
# Packages that may be missing.
optional=""
case "${1:-}" in
  --tests)
    packages="$packages $tests"
    optional="$tests_optional"
    ;;
  # With QGIS too, which is large.
  --clients)
    packages="$packages $tests python3-qgis qgis-providers"
    optional="$tests_optional"
    ;;
  # What the Debian package is made and tried with.
  --dist) packages="$packages dpkg-dev debootstrap curl make python3 binutils" ;;
  # The load generator.
  --soak) packages="$packages wrk curl python3" ;;
  # Schedulers for job arrays; what Spark and GNU parallel over ssh need may be missing.
  --scale)
    packages="$packages slurm-wlm munge python3 python3-pip"
    optional="parallel openssh-server default-jre-headless"
    ;;
  # And the servers that tileserve is measured against, each of which may be missing. apache2-bin is Apache without its service.
  --bench)
    packages="$packages wrk curl python3"
    optional="nginx-light apache2-bin libapache2-mod-tile mapproxy gunicorn"
    ;;
esac
missing_of() {
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || printf ' %s' "$package"
  done
}
# Word splitting is wanted below: one argument a package.
# shellcheck disable=SC2086
missing=$(missing_of $packages)
# shellcheck disable=SC2086
missing_optional=$(missing_of $optional)
[ -n "$missing$missing_optional" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "please install:$missing$missing_optional" >&2
  [ -n "$missing" ] && exit 1
  exit 0
fi
case "${1:-}" in
  --tests | --clients) echo "installing what the tests compare with, and a browser for the web pages:$missing$missing_optional" ;;
  *) echo "installing:$missing$missing_optional" ;;
esac
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
export DEBIAN_FRONTEND=noninteractive
# Without apt-utils debconf asks later, or not at all here: nobody answers.
quietly() {
  local status=0
  { "$@" 2>&1 >/dev/null | grep -v '^debconf: delaying package configuration' >&2; status=${PIPESTATUS[0]}; } || true
  return "$status"
}
$sudo apt-get update -qq
# shellcheck disable=SC2086
[ -z "$missing" ] || quietly $sudo apt-get install -y -qq --no-install-recommends $missing
for package in $missing_optional; do
  quietly $sudo apt-get install -y -qq --no-install-recommends "$package" || echo "$package could not be installed; what needs it is left out"
  # Their packages start them as services on ports 80 and 22; only the programs are wanted.
  case "$package" in
    nginx-light) service=nginx ;;
    openssh-server) service=ssh ;;
    *) continue ;;
  esac
  if [ -d /run/systemd/system ]; then $sudo systemctl disable --now "$service" >/dev/null 2>&1 || true; fi
done
