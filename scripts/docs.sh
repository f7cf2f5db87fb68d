#!/bin/sh
# Builds the DocC archives of libraries into .build/docs: docs.sh LIBRARY... A link that leads nowhere is an error.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .build/docs
for library; do
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
