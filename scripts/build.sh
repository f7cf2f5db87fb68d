#!/bin/bash
# Builds release products and says what each is for and how long that took:
#
#   build.sh PRODUCT       one product
#   build.sh COMMAND...    all four commands in one call
#
# Release binaries contain Swift's own libraries: they run on machines without Swift, start sooner, and answer a request
# with a tenth less CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose() {
  case "$1" in
    tilecut) echo "cuts rasters (three minutes from nothing on two quiet cores)" ;;
    tileserve) echo "serves bundles" ;;
    purchase-ledger) echo "records purchases" ;;
    mapstore) echo "sells regions" ;;
    *) echo "is for benchmarks" ;;
  esac
}
start=$SECONDS
for product in "$@"; do echo "building $product, which $(purpose "$product")"; done
# One call for several: SwiftPM cannot be given more than one product, but all of them.
if [ $# -gt 1 ]; then
  export COMMANDS_ONLY=1
  swift build -c release --static-swift-stdlib 2>&1 | scripts/quiet-build.sh
else
  swift build -c release --static-swift-stdlib --product "$1" 2>&1 | scripts/quiet-build.sh
fi
echo "  built: $((SECONDS - start)) s"
