#!/bin/sh
# Reads swift test's output and prints failures as they come, a count now and then, what was not tried and how to try it,
# and as its last line the test runner's own summary. Without a summary nothing was tested, which is a failure.
# mawk gathers 4 kB of a pipe before it looks at a line, unless told otherwise; the others take a line as it comes.
case $(awk -W version 2>/dev/null </dev/null) in
  mawk*) set -- -W interactive ;;
  *) set -- ;;
esac
exec awk "$@" '
  # Tests that are left out say why, and what to install; those that find out while they run print it themselves.
  function leftOut(count, reason) {
    gsub(/^"|"$/, "", reason)
    if (!(reason in missing)) reasons[++reasonCount] = reason
    missing[reason] += count
    missingCount += count
  }
  # The arguments of a case may go over several lines. The last of them may be torn, so a line of the next event ends
  # them, too.
  skipping {
    if (/started\.$/) { skipping = 0; next }
    if (!/^(✔|✘|◇|↳|➜|⚠)/) next
    skipping = 0
  }
  / Test case passing / { if (!/started\.$/) skipping = 1; next }
  # The summary is held back: swift test may print more after it.
  / Test run with / { summary = $0; next }
  / (Test|Suite) .* skipped: / { reason = $0; sub(/.* skipped: /, "", reason); leftOut(1, reason); next }
  / Test .* was cancelled after [0-9.]+ seconds: / { reason = $0; sub(/.* seconds: /, "", reason); leftOut(1, reason); next }
  /^skipped: / { leftOut(1, substr($0, 10)); next }
  / Test .* passed after / { if (++passed % 50 == 0) { print "  " passed " tests passed"; fflush() } next }
  # The second: the rest of a line that another one tore apart.
  / (Test|Suite) .* started\.$/ || /\) started\.$/ || / Suite .* passed after / { next }
  /^(\[[0-9]+\/[0-9]+\] |Building|Build complete)/ { next }
  { print; fflush() }
  END {
    if (missingCount > 0) {
      line = "not tried: " missingCount (missingCount == 1 ? " test or suite" : " tests and suites")
      for (i = 1; i <= reasonCount; i++) line = line (i == 1 ? ": " : "; ") missing[reasons[i]] " x " reasons[i]
      print line
    }
    if (summary == "") { print "error: the test runner printed no summary, so no test ran to its end"; exit 1 }
    print summary
  }
'
