#!/bin/bash
# Builds everything from nothing in a folder of its own and prints how long each target takes, as a Markdown table:
#
#   build-times.sh [OPTION...]     of swift build; those of `make build` unless given
#
# The compilers are called through this script, which records the processor time (user and system) of each call: wall
# time would count what other programs do. A target of C has one call a file; its row is their sum.
set -euo pipefail
if [ -n "${BUILD_TIMES_LOG:-}" ]; then
  # Called by SwiftPM in place of swiftc or clang.
  compiler=$BUILD_TIMES_SWIFTC
  [ "$(basename "$0")" != clang ] || compiler=$BUILD_TIMES_CLANG
  module="" kind="" path=""
  previous=""
  for argument in "$@"; do
    case "$previous" in -module-name) module=$argument ;; esac
    case "$argument" in
      -emit-executable | -emit-library) kind="link" ;;
      -emit-module | -c) kind=${kind:-compile} ;;
      @*/sources) path=$(head -n 1 "${argument#@}") ;;
      *.c | *.cc | *.cpp | *.S) path=$argument ;;
    esac
    previous=$argument
  done
  "$compiler" "$@" && status=0 || status=$?
  if [ -n "$kind" ]; then
    # The second line of `times` is the children's. A subshell, as in a pipe, would have none.
    times >"$BUILD_TIMES_LOG.$$"
    seconds=$(awk 'NR == 2 { n = split($0, t, /[ms ]+/); print t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$BUILD_TIMES_LOG.$$")
    rm "$BUILD_TIMES_LOG.$$"
    # In a checkout: .../checkouts/PACKAGE/Sources/TARGET/...
    package=ours
    case "$path" in */checkouts/*) package=${path#*/checkouts/} package=${package%%/*} ;; esac
    case "$path" in *.c | *.cc | *.cpp | *.S) module=${path#*/Sources/} module=${module%%/*} ;; esac
    echo "$seconds|$kind|$package|$module" >>"$BUILD_TIMES_LOG"
  fi
  exit "$status"
fi

cd "$(dirname "$0")/.."
export OPTIMISED_KERNELS=${OPTIMISED_KERNELS:-1}
folder=$PWD/.build/times
rm -rf "$folder"
mkdir -p "$folder/bin"
ln -s "$PWD/scripts/build-times.sh" "$folder/bin/swiftc"
ln -s "$PWD/scripts/build-times.sh" "$folder/bin/clang"
# Packages are fetched once for all builds.
for part in checkouts repositories workspace-state.json; do
  [ ! -e ".build/$part" ] || cp -R ".build/$part" "$folder/"
done
[ $# -gt 0 ] || set -- -c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -function-sections --product
products="tilecut tileserve purchase-ledger mapstore"
build() {
  BUILD_TIMES_LOG=$folder/log BUILD_TIMES_SWIFTC=$(command -v swiftc) BUILD_TIMES_CLANG=$(command -v clang) \
    SWIFT_EXEC=$folder/bin/swiftc CC=$folder/bin/clang \
    swift build --scratch-path "$folder" "$@" 2>&1 | scripts/quiet-build.sh >&2
}
start=$SECONDS
if [ "${!#}" = --product ]; then
  for product in $products; do
    build "$@" "$product"
    echo "after $((SECONDS - start)) s: $product" >&2
  done
else
  build "$@"
fi
echo "| target | package | processor s |"
echo "|---|---|---|"
awk -F'|' '
  { name = $2 == "link" ? "linking " $4 : $4; key = name "|" $3; seconds[key] += $1; total += $1 }
  $3 != "ours" { foreign += $1 }
  END {
    for (key in seconds) if (seconds[key] >= 3) { printf "%.0f|%s\n", seconds[key], key | "sort -t\"|\" -k1,1nr -k2"; rest -= seconds[key] }
    close("sort -t\"|\" -k1,1nr -k2")
    printf "%.0f|the others, under 3 s each|\n", total + rest
    printf "%.0f|**all**|of which dependencies %.0f\n", total, foreign
  }' "$folder/log" | awk -F'|' '{ printf "| %s | %s | %s |\n", $2, $3 == "ours" ? "" : $3, $1 }'
echo
echo "wall time: $((SECONDS - start)) s on $(nproc) cores"
