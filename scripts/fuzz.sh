#!/bin/bash
# libFuzzer on the parsers of purchase evidence (JWS, receipts in DER and BER, notifications), and on the readers of rasters, of the files
# beside them, of GeoJSON and GPX; FUZZ_SECONDS each.
# No trap, no hang, no more than 512 MB. What fails is kept: LedgerFuzz KIND FILE or RasterFuzz KIND FILE runs it again.
# FUZZ_KINDS names some of them.
set -euo pipefail
seconds=${FUZZ_SECONDS:-120}
kinds=${FUZZ_KINDS:-jws receipt notification tiff png jpeg webp jpeg2000 geokeys vrt aux overviews mask worldfile geojson gpx}
runtime=$(find "$(dirname "$(readlink -f "$(command -v swift)")")/../lib/clang" -name "libclang_rt.fuzzer_no_main-$(uname -m).a" 2>/dev/null | head -n 1)
if [ -z "$runtime" ]; then
  echo "fuzz: this Swift toolchain has no libclang_rt.fuzzer_no_main-$(uname -m).a; the toolchains of swift.org for Linux have" >&2
  exit 69
fi
export LIBFUZZER_RUNTIME
LIBFUZZER_RUNTIME=$(realpath "$runtime")
scratch=${FUZZ_SCRATCH:-.build/fuzz}
corpora=${FUZZ_CORPUS:-.build/fuzz-corpus}
built=""
for kind in $kinds; do
  case $kind in
    jws | receipt | notification) program=LedgerFuzz ;;
    *) program=RasterFuzz ;;
  esac
  if [[ $built != *$program* ]]; then
    echo "building $program (release, its own folder); the first time takes a few minutes"
    # shellcheck disable=SC2086
    swift build -c release --static-swift-stdlib --scratch-path "$scratch" --product "$program" ${FUZZ_BUILD_OPTIONS:-} 2>&1 | scripts/quiet-build.sh
    built="$built $program"
  fi
  mkdir -p "$corpora/$kind"
  log=$corpora/$kind.log
  if ! "$scratch/release/$program" "$kind" "$corpora/$kind" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=10 \
    -max_len=131072 -artifact_prefix="$corpora/$kind-" -print_final_stats=1 >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "fuzz: $kind failed after $(ls "$corpora/$kind" | wc -l) inputs of the corpus; see $log and $corpora/$kind-*" >&2
    exit 1
  fi
  awk -v kind="$kind" '
    / cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1) } }
    /number_of_executed_units/ { runs = $2 }
    /peak_rss_mb/ { memory = $2 }
    END { printf "fuzz: %s: %d inputs, %d places reached, at most %d MB, nothing found\n", kind, runs, cov, memory }' "$log"
done
