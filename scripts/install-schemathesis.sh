#!/bin/sh
# Installs schemathesis (from PyPI) into .build/schemathesis, for the test that compares mapstore's answers with
# docs/openapi.yaml. The version is fixed, and with it the requests that it generates. Without it that test is skipped, so
# its absence is no failure.
set -eu
cd "$(dirname "$0")/.."
version=4.32.5
target=.build/schemathesis

if [ -x "$target/bin/schemathesis" ] && [ -d "$target/schemathesis-$version.dist-info" ]; then exit 0; fi
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "pip is missing, so schemathesis is not installed; the test of docs/openapi.yaml is skipped"
  exit 0
fi
mkdir -p .build
work=$(mktemp -d .build/schemathesis-XXXXXX)
trap 'rm -rf "$work"' EXIT
echo "fetching schemathesis $version"
if ! python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --target "$work/new" "schemathesis==$version" 2>"$work/log"; then
  echo "schemathesis could not be fetched ($(tail -n 1 "$work/log")); the test of docs/openapi.yaml is skipped"
  exit 0
fi
rm -rf "$target"
mv "$work/new" "$target"
