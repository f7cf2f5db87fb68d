#!/bin/bash
# Compares the public interface of the libraries that an app embeds with that of the last release: api-diff.sh [REF]
# Without REF the last tag counts. Breaking changes that CHANGELOG.md does not name under Unreleased are an error.
set -eu
cd "$(dirname "$0")/.."
# As in docs.sh.
libraries="TileIndex LocalizedErrors RegionCatalog TileImage OfflineMap MapStoreWire
MapStoreClient PurchaseVerification PurchaseLedger Accounts StoreSimulators TileServe"
ref=${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [ -z "$ref" ]; then
  echo "there is no release yet: no tag to compare with. api-diff.sh REF compares with a commit"
  exit 0
fi
old=.build/api/$(git rev-parse --short "$ref^{commit}")
if [ ! -e "$old/complete" ]; then
  echo "building the libraries of $ref; the first time takes a quarter of an hour"
  git worktree add --force --detach "$old/source" "$ref" >/dev/null
  trap 'git worktree remove --force "$old/source"' EXIT
  here=$PWD
  (cd "$old/source" && "$here/scripts/symbol-graphs.sh" "$here/$old/graphs" $libraries)
  touch "$old/complete"
fi
rm -rf .build/api/new
scripts/symbol-graphs.sh .build/api/new $libraries
scripts/api-diff.py "$old/graphs" .build/api/new CHANGELOG.md $libraries
