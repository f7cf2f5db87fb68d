#!/bin/bash
# Makes the regions of a manifest that are not made, as one array, and publishes the catalogue when all are there:
#
#   build.sh MANIFEST CATALOGUE [options of sbatch for the regions, such as --mem=2G or --cpus-per-task=4]
#
# Manifest, sources and catalogue lie on a disk that all nodes share, and tilecut is in their PATH. Prints the number of
# the publishing job.
set -euo pipefail
usage="usage: build.sh MANIFEST CATALOGUE [options of sbatch]"
export MANIFEST CATALOGUE
MANIFEST=$(realpath "${1:?$usage}")
CATALOGUE=$(realpath -m "${2:?$usage}")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
log=$CATALOGUE.log
mkdir -p "$log"
missing=$(tilecut build "$MANIFEST" -o "$CATALOGUE" --list-missing)
after=()
if [ -n "$missing" ]; then
  job=$(sbatch --parsable --export=ALL --array="$missing" --output="$log/build-%A_%a.log" "$@" "$here/build.sbatch")
  after=("--dependency=afterok:$job" --kill-on-invalid-dep=yes)
fi
sbatch --parsable --export=ALL ${after[@]+"${after[@]}"} --job-name=tilecut-publish --mem=900M \
  --output="$log/publish-%j.log" --wrap 'exec tilecut build "$MANIFEST" -o "$CATALOGUE" --progress none'
