#!/bin/sh
# Reads swift build's output: a line of progress now and then, warnings and errors whole, the rest dropped.
exec awk '
  /^\[[0-9]+\/[0-9]+\] / {
    counts = $1
    gsub(/[^0-9\/]/, "", counts)
    split(counts, n, "/")
    tenth = int(10 * n[1] / n[2])
    if (n[2] > 20 && tenth > last) { print "  step " n[1] " of " n[2]; fflush(); last = tenth }
    next
  }
  /^(Building|Build |Planning|Fetching|Fetched|Computing|Computed|Creating|Working|Updating|Updated|Resolving|Write )/ { next }
  # The linker speaks of a function in Foundation that nothing here calls.
  /FoundationEssentials.*mktemp/ { next }
  # SwiftPM names what lies unused in packages that are not ours.
  /^warning: .* file\(s\) which are unhandled/ { skipping = 1; next }
  skipping && /^    \// { next }
  { skipping = 0; print; fflush() }
'
