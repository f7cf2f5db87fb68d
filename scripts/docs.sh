#!/bin/bash
# Builds the DocC archives of the libraries that an app embeds into .build/docs. A link that leads nowhere and a public
# symbol without a comment are errors. docs.sh --check only counts the comments.
set -eu
cd "$(dirname "$0")/.."
# As in .spi.yml and api-diff.sh.
libraries="TileIndex LocalizedErrors RegionCatalog TileImage OfflineMap MapStoreWire
MapStoreClient PurchaseVerification PurchaseLedger Accounts StoreSimulators TileServe"
mkdir -p .build/docs
rm -rf .build/docs/graphs
echo "comments of public symbols"
scripts/symbol-graphs.sh .build/docs/graphs $libraries
scripts/docs-coverage.py .build/docs/graphs $libraries ||
  { echo "public symbols have no comment; write one for each" >&2; exit 1; }
[ "${1:-}" != --check ] || exit 0
for library in $libraries; do
  echo "documentation of $library"
  log=.build/docs/$library.log
  swift package --allow-writing-to-directory .build/docs generate-documentation --target "$library" \
    --output-path ".build/docs/$library.doccarchive" >"$log" 2>&1 || { cat "$log"; exit 1; }
  if grep -A 3 -E "doesn't exist at|is ambiguous at|No symbol matched" "$log"; then
    echo "$library: links lead nowhere; correct them" >&2
    exit 1
  fi
done
echo "written: .build/docs"
