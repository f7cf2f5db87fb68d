#!/bin/sh
# Installs tools from PyPI that tests compare with, each into .build/NAME: schemathesis, for the test that compares mapstore's answers with
# docs/reference/openapi.yaml (the version is fixed, and with it the requests that it generates), pmtiles, the reference reader of archives, and alktx2, Basis
# Universal's reader of KTX 2.0, for Python 3.11 alone, and axe-core-python, whose axe.min.js checks the pages for what keeps people out. Without one of them its test is skipped, so its absence is no failure.
set -eu
cd "$(dirname "$0")/.."

install_tool() {
  name=$1 version=$2
  target=.build/$name
  if [ -d "$target/$name-$version.dist-info" ]; then return; fi
  if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
    echo "pip is missing, so $name is not installed; its test is skipped"
    return
  fi
  mkdir -p .build
  work=$(mktemp -d ".build/$name-XXXXXX")
  echo "fetching $name $version"
  if python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --target "$work/new" "$name==$version" 2>"$work/log"; then
    rm -rf "$target"
    mv "$work/new" "$target"
  else
    echo "$name could not be fetched ($(tail -n 1 "$work/log")); its test is skipped"
  fi
  rm -rf "$work"
}
work=""
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
install_tool schemathesis 4.32.5
install_tool pmtiles 3.8.1
install_tool alktx2 0.1.7
install_tool axe-core-python 0.1.0
