#!/bin/bash
# Builds libraries and writes the symbol graphs of their public symbols: symbol-graphs.sh FOLDER LIBRARY...
# To be run in the package's folder. SKIP_BUILD=1 takes the modules of .build/debug as they are.
set -eu
folder=$1; shift
mkdir -p "$folder"
if [ "${SKIP_BUILD:-}" != 1 ]; then
  # The options are those of build.sh --debug.
  for library; do
    swift build --disable-index-store -debug-info-format none --target "$library" >"$folder/build.log" 2>&1 || {
      cat "$folder/build.log"
      exit 1
    }
  done
fi
products=$(readlink -f .build/debug)
# The C modules that Swift modules were compiled with: the system's, those of the build, those of other packages.
flags=()
for map in Sources/C*/module.modulemap "$products"/*.build/module.modulemap; do
  [ -e "$map" ] && flags+=(-Xcc "-fmodule-map-file=$map")
done
for include in Sources/C*/include .build/checkouts/*/Sources/*/include; do
  [ -d "$include" ] || continue
  flags+=(-Xcc "-I$PWD/$include")
  [ -e "$include/module.modulemap" ] && flags+=(-Xcc "-fmodule-map-file=$include/module.modulemap")
done
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
for library; do
  swift symbolgraph-extract -module-name "$library" -I "$products/Modules" "${flags[@]}" -target "$target" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$folder"
done
