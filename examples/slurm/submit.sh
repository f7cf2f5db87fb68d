#!/bin/bash
# Makes the shards of a plan that are not done, and then the bundle, or the catalogue of a shelf of regions:
#
#   submit.sh PLAN OUTPUT [options of sbatch for the shards, such as --partition=long or --cpus-per-task=4]
#   submit.sh PLAN [options of sbatch]              for a plan of `tilecut plan --catalogue`
#
# The plan lies on a disk that all nodes share, and tilecut is in their PATH. Prints the number of the last job, which
# does not start if a shard fails: look with `tilecut missing PLAN`, and submit again. AT_A_TIME in the environment
# limits how many shards are made at a time, for a shared disk that is slow.
set -euo pipefail
usage="usage: submit.sh PLAN OUTPUT [options of sbatch]"
plan=$(realpath "${1:?$usage}")
shift
step="cut"
output=""
if grep -q '"format": *"tilecut build plan"' "$plan"; then
  step="build"
else
  output=$(realpath -m "${1:?$usage}")
  # A folder of tiles.
  case "$1" in */) output=$output/ ;; esac
  shift
fi
here=$(cd "$(dirname "$0")" && pwd)
log=${plan%.json}.log
mkdir -p "$log"
# The highest number of an array that Slurm takes is one less.
most=$(scontrol show config | awk '$1 == "MaxArraySize" { print $3 }')
jobs=""
job=""
# Before an array is submitted: a plan that cannot be read ends this script.
missing=$(tilecut missing "$plan")
# A line for each array: what is added to its numbers, and the numbers. AT_A_TIME counts in each array, so that with it
# an array waits for the one before.
while read -r offset numbers; do
  job=$(STEP=$step PLAN=$plan SHARD_OFFSET=$offset sbatch --parsable --export=ALL \
    ${AT_A_TIME:+${job:+--dependency=afterany:$job}} --array="$numbers${AT_A_TIME:+%$AT_A_TIME}" \
    --output="$log/cut-%A_%a.log" "$@" "$here/cut.sbatch")
  jobs=$jobs:$job
done < <(echo "$missing" | tr , '\n' | awk -F- -v most="$most" '
  NF { for (n = $1; n <= $NF; n = last + 1) {
      k = int(n / most)
      last = $NF < (k + 1) * most ? $NF : (k + 1) * most - 1
      list[k] = list[k] (list[k] == "" ? "" : ",") n - k * most (last > n ? "-" last - k * most : "")
    } }
  END { for (k in list) print k * most, list[k] }')
STEP=$step PLAN=$plan OUTPUT=$output sbatch --parsable --export=ALL ${jobs:+--dependency=afterok$jobs} \
  --kill-on-invalid-dep=yes --output="$log/merge-%j.log" "$here/merge.sbatch"
