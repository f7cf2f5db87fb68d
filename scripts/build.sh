#!/bin/bash
# Builds products and says what each is for and how long that took:
#
#   build.sh PRODUCT           one product
#   build.sh COMMAND...        all four commands in one call
#   build.sh --debug PRODUCT...  the same without optimisation, as the tests use them
#   build.sh --tests           the tests, and the commands as they use them
#
# Release binaries contain Swift's own libraries: they run on machines without Swift, start sooner, and answer a request
# with a tenth less CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
# As make builds: Package.swift chooses linker and options by it.
export OPTIMISED_KERNELS=${OPTIMISED_KERNELS:-1}
# Without a section for each function the linker keeps all of an object file of which it needs one: a tenth of tileserve.
options="-c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -function-sections"
# Without what editors and debuggers use (they build their own), which takes a third of the compiler's time. With other
# options everything is compiled again.
debug="--disable-index-store -debug-info-format none"
case "$1" in
  --release) shift ;;
  --debug)
    shift
    options=$debug
    ;;
  --tests)
    # shellcheck disable=SC2086
    swift build --build-tests $debug 2>&1 | scripts/quiet-build.sh
    exit
    ;;
esac
purpose() {
  case "$1" in
    tilecut) echo "cuts rasters" ;;
    tileserve) echo "serves bundles" ;;
    purchase-ledger) echo "records purchases" ;;
    mapstore) echo "sells regions" ;;
    *) echo "is for benchmarks" ;;
  esac
}
# Of a first build on two quiet cores; later ones compile what has changed.
usual() {
  case "$options,$#,$1" in
    "$debug",1,tilecut) echo "a minute and a half" ;;
    "$debug",4,*) echo "five minutes" ;;
    *,1,tilecut) echo "three minutes" ;;
    *,4,*) echo "eleven to seventeen minutes" ;;
  esac
}
start=$SECONDS
built=.build/release
[ "$options" != "$debug" ] || built=.build/debug
missing=""
for product in "$@"; do
  [ -x "$built/$product" ] || missing="$missing $product"
  if [ -x "$built/$product" ]; then
    echo "$product is built; what has changed of it is compiled again"
  else
    echo "building $product, which $(purpose "$product")"
  fi
done
[ -z "$missing" ] || [ -z "$(usual "$@")" ] || echo "  the first time takes about $(usual "$@") on two quiet cores"
# One call for several: SwiftPM cannot be given more than one product, but all of them. One command has the package of
# all four, so that what is built for one is built for the others.
case "$1" in tilecut | tileserve | purchase-ledger | mapstore) export COMMANDS_ONLY=1 ;; esac
if [ $# = 1 ]; then
  # Nothing is fetched for servers, unless that is done.
  if [ "$1" = tilecut ] && [ ! -d .build/checkouts/hummingbird ]; then export TILECUT_ONLY=1; fi
  options="$options --product $1"
fi
# shellcheck disable=SC2086
swift build $options 2>&1 | scripts/quiet-build.sh
echo "  built: $((SECONDS - start)) s"
