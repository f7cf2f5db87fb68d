#!/bin/sh
# Reads swift test's output: what failed or was skipped, a count now and then, and the runner's own summary.
exec awk '
  # The arguments of a case may go over several lines.
  skipping { if (/started\.$/) skipping = 0; next }
  / Test case passing / { if (!/started\.$/) skipping = 1; next }
  / Test run with / { print; fflush(); next }
  / Test .* passed after / { if (++passed % 50 == 0) { print "  " passed " tests passed"; fflush() } next }
  / (Test|Suite) .* started\.$/ || / Suite .* passed after / { next }
  /^(\[[0-9]+\/[0-9]+\] |Building|Build complete)/ { next }
  { print; fflush() }
'
