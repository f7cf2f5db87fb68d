#!/bin/bash
# Reads swift build's output: a line of progress twice a minute, warnings and errors whole, the rest dropped.
set -u
# Before bash 4 a read that times out says what one at the end says.
[ "${BASH_VERSINFO[0]}" -ge 4 ] || exec cat
begun=$SECONDS
shown=$SECONDS
step=""
skipping=""
line=""
while true; do
  # Without input for a second: a long step is going on. What was read of a line is kept.
  IFS= read -r -t 1 part
  status=$?
  line+=$part
  if [ $status -gt 128 ] || { [ $status -ne 0 ] && [ -z "$line" ]; }; then
    [ $status -gt 128 ] || break
  else
    case "$line" in
      \[[0-9]*/[0-9]*\]\ *)
        step=${line#\[}
        step=${step%%\]*}
        ;;
      Building* | Build\ * | Planning* | Fetching* | Fetched* | Computing* | Computed* | Creating* | Working* | Updating* | Updated* | Resolving* | Write\ *) ;;
      # The linker speaks of a function in Foundation that nothing here calls.
      *FoundationEssentials*mktemp*) ;;
      # SwiftPM names what lies unused in packages that are not ours, a file a line.
      warning:\ *file\(s\)\ which\ are\ unhandled*) skipping=1 ;;
      "    /"*) [ -n "$skipping" ] || printf '%s\n' "$line" ;;
      *)
        skipping=""
        printf '%s\n' "$line"
        ;;
    esac
    line=""
  fi
  # SwiftPM finds more steps as it goes on.
  if [ -n "$step" ] && [ $((SECONDS - shown)) -ge 30 ]; then
    echo "  after $((SECONDS - begun)) s: step ${step%/*} of ${step#*/} that are known so far"
    shown=$SECONDS
  fi
done
