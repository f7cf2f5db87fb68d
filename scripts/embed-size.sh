#!/bin/bash
# What an app that embeds a library of this package fetches and builds: packages, steps of its debug build, MB in .build, and the size of
# its program for release, stripped. PRODUCT without traits unless given: embed-size.sh [PRODUCT [TRAIT,...]]
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
else
  printf 'import %s\n\n@main struct App {\n  static func main() {}\n}\n' "$product" >"$app/Sources/App/App.swift"
fi
cd "$app"
env -u OPTIMISED_KERNELS swift build >build.log 2>&1 || { cat build.log >&2; exit 1; }
echo "$product, traits [${2:-}]"
echo "  packages fetched          $(($(grep -c '"identity"' Package.resolved 2>/dev/null || true) + 1))"
echo "  steps of the debug build  $(grep -o '^\[[0-9]*/[0-9]*\]' build.log | tr -d '[]' | cut -d/ -f2 | sort -n | tail -1)"
echo "  MB in .build              $(du -sm .build | cut -f1)"
[ "$product" = OfflineMap ] || exit 0
env -u OPTIMISED_KERNELS swift build -c release >build.log 2>&1 || { cat build.log >&2; exit 1; }
strip -o stripped .build/release/App
echo "  program, stripped         $(stat -c %s stripped | awk '{ printf "%.1f MB", $1 / 1e6 }')"
