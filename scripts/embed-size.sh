#!/bin/bash
# What an app that embeds a library of this package fetches and builds: packages, steps of its debug build, MB in .build,
# and the size of its program for release, stripped, beside Swift's shared libraries. The program has the code of the
# library's article (Tests/DocumentationTests). embed-size.sh [PRODUCT [TRAIT,...]]; without traits unless given.
set -euo pipefail
cd "$(dirname "$0")/.."
package=$(pwd)
product=${1:-OfflineMap}
traits=$(echo "${2:-}" | sed 's/[^,][^,]*/"&"/g')
example=Tests/DocumentationTests/${product}Example.swift
[ -e "$example" ] || { echo "$example is missing; name a product whose article has an example" >&2; exit 64; }
app=$(mktemp -d "${EMBED_SCRATCH:-/tmp}/embed-size-XXXXXX")
trap 'rm -rf "$app"' EXIT
mkdir -p "$app/Sources/App"
# Its folder's name is how SwiftPM calls a package that lies on the disk.
ln -s "$package" "$app/map-toolkit"
products=$(sed -n 's/^import //p' "$example" |
  sed 's/.*/.product(name: "&", package: "map-toolkit"),/')
cat >"$app/Package.swift" <<C
// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [.package(path: "map-toolkit", traits: [$traits])],
  targets: [.executableTarget(name: "App", dependencies: [$products])])
C
cp "$example" "$app/Sources/App/"
# A reference to the example, so that the linker keeps what it needs.
function=$(sed -n 's/^func \([a-zA-Z]*\)(.*/\1/p' "$example" | head -1)
printf '@main struct App { static func main() { print(type(of: %s)) } }\n' "$function" >"$app/Sources/App/App.swift"
cd "$app"
env -u OPTIMISED_KERNELS swift build >build.log 2>&1 || { cat build.log >&2; exit 1; }
echo "$product, traits [${2:-}]"
echo "  packages fetched          $(($(grep -c '"identity"' Package.resolved 2>/dev/null || true) + 1))"
echo "  steps of the debug build  $(grep -o '^\[[0-9]*/[0-9]*\]' build.log | tr -d '[]' | cut -d/ -f2 | sort -n | tail -1)"
echo "  MB in .build              $(du -sm .build | cut -f1)"
env -u OPTIMISED_KERNELS swift build -c release >build.log 2>&1 || { cat build.log >&2; exit 1; }
strip -o stripped .build/release/App
echo "  program, stripped         $(stat -c %s stripped | awk '{ printf "%.1f MB", $1 / 1e6 }')"
