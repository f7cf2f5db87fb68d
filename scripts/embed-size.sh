#!/bin/bash
# What an app that embeds a library of this package fetches and builds: packages, steps of its debug build, MB in .build, and by how much the
# library makes its program for release larger, stripped. PRODUCT without traits unless given: embed-size.sh [PRODUCT [TRAIT,...]]
set -euo pipefail
cd "$(dirname "$0")/.."
package=$(pwd)
product=${1:-OfflineMap}
traits=$(echo "${2:-}" | sed 's/[^,][^,]*/"&"/g')
app=$(mktemp -d "${EMBED_SCRATCH:-/tmp}/embed-size-XXXXXX")
trap 'rm -rf "$app"' EXIT
mkdir -p "$app/Sources/App"
# Its folder's name is how SwiftPM calls a package that lies on the disk.
ln -s "$package" "$app/map-toolkit"
cat >"$app/Package.swift" <<C
// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [.package(path: "map-toolkit", traits: [$traits])],
  targets: [.executableTarget(name: "App", dependencies: [.product(name: "$product", package: "map-toolkit")])])
C
if [ "$product" = OfflineMap ]; then
  # README's map view, with the bundle of the command line.
  {
    echo "import OfflineMap"
    echo "@main struct App { static func main() async throws {"
    awk '/^```/ { inside = 0 } inside; /^import OfflineMap$/ { inside = 1 }' "$package/README.md" |
      sed 's/"usa.mbtiles"/CommandLine.arguments[1]/'
    echo "} }"
  } >"$app/Sources/App/App.swift"
elif [ "$product" = TileIndex ]; then
  # What README does with a bundle.
  {
    echo "import TileIndex"
    echo "@main struct App { static func main() throws {"
    awk '/^```/ { inside = 0 } inside; /^import TileIndex$/ { inside = 1 }' "$package/README.md" |
      sed 's/"usa.mbtiles"/CommandLine.arguments[1]/'
    echo "print(png?.count ?? 0)"
    echo "} }"
  } >"$app/Sources/App/App.swift"
else
  printf 'import %s\n\n@main struct App {\n  static func main() {}\n}\n' "$product" >"$app/Sources/App/App.swift"
fi
cd "$app"
env -u OPTIMISED_KERNELS swift build >build.log 2>&1 || { cat build.log >&2; exit 1; }
echo "$product, traits [${2:-}]"
echo "  packages fetched          $(($(grep -c '"identity"' Package.resolved 2>/dev/null || true) + 1))"
echo "  steps of the debug build  $(grep -o '^\[[0-9]*/[0-9]*\]' build.log | tr -d '[]' | cut -d/ -f2 | sort -n | tail -1)"
echo "  MB in .build              $(du -sm .build | cut -f1)"
# An app that imports a library and calls nothing links nothing of it.
case "$product" in OfflineMap | TileIndex) ;; *) exit 0 ;; esac
env -u OPTIMISED_KERNELS swift build -c release >build.log 2>&1 || { cat build.log >&2; exit 1; }
strip -o stripped .build/release/App
# The same app without the library.
mkdir -p empty/Sources/App
cat >empty/Package.swift <<C
// swift-tools-version: 6.1
import PackageDescription

let package = Package(name: "App", targets: [.executableTarget(name: "App")])
C
printf '@main struct App {\n  static func main() {}\n}\n' >empty/Sources/App/App.swift
env -u OPTIMISED_KERNELS swift build --package-path empty -c release >build.log 2>&1 || { cat build.log >&2; exit 1; }
strip -o empty/stripped empty/.build/release/App
stat -c %s stripped empty/stripped | paste -s | awk '{
  printf "  program, stripped         %.2f MB\n  without the library       %.2f MB\n", $1 / 1e6, $2 / 1e6
  printf "  size added by it          %.2f MB\n", ($1 - $2) / 1e6
}'
