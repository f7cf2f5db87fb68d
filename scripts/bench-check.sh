#!/bin/bash
# Counts the instructions of the hot kernels with callgrind and compares them with Benchmarks/instructions.txt: more than 5% above a line's number fails.
# `scripts/bench-check.sh --bless` writes the counts. They belong to one compiler, one libdeflate and one processor family (callgrind hides AVX-512 from programs).
set -euo pipefail
cd "$(dirname "$0")/.."
known=Benchmarks/instructions.txt
bench=${TILE_BENCH:-.build/release/TileBench}
if ! command -v valgrind >/dev/null; then
  echo "bench-check skipped: needs valgrind (apt-get install valgrind)"
  exit 0
fi
# Valgrind 3.19 cannot read the debug information of Swift's static libraries.
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$bench"
chmod +x "$stripped"
count() { valgrind --tool=callgrind --callgrind-out-file=/dev/null "$stripped" kernel "$1" 2>&1 | awk '/Collected/ { print $NF }'; }
base=$(count none)
failed=0
lines=""
for kernel in encode-fast encode-balanced encode-small encode-palette reduce reduce-linear insert; do
  found=$(($(count "$kernel") - base))
  lines="$lines$kernel $found
"
  before=$(awk -v kernel="$kernel" '$1 == kernel { print $2 }' "$known" 2>/dev/null || true)
  if [ "${1:-}" = --bless ] || [ -z "$before" ]; then
    printf '%-16s %14d instructions\n' "$kernel" "$found"
  elif [ $((found * 100)) -gt $((before * 105)) ]; then
    printf '%-16s %14d instructions, %d before: MORE THAN 5%% MORE\n' "$kernel" "$found" "$before"
    failed=1
  else
    printf '%-16s %14d instructions, %d before: ok\n' "$kernel" "$found" "$before"
  fi
done
[ "${1:-}" != --bless ] || printf '%s' "$lines" >"$known"
exit $failed
