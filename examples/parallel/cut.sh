#!/bin/bash
# Makes the shards of a plan with GNU parallel, on this machine or over ssh, and then the bundle, or the catalogue of a
# shelf of regions:
#
#   cut.sh PLAN OUTPUT [options of parallel, such as -j 4, or -S node1,node2 or --sshloginfile FILE]
#   cut.sh PLAN [options of parallel]               for a plan of `tilecut plan --catalogue`
#
# The plan lies on a disk that all machines share, under the same path, and tilecut is in their PATH.
set -euo pipefail
usage="usage: cut.sh PLAN OUTPUT [options of parallel]"
plan=$(realpath "${1:?$usage}")
shift
if grep -q '"format": *"tilecut build plan"' "$plan"; then
  step="build"
  last=(tilecut build --plan "$plan" --progress none)
else
  step="cut"
  last=(tilecut merge --plan "$plan" -o "${1:?$usage}")
  shift
fi
# 64 and 65 would be the same at the next attempt: the last step names those shards. Any other failure is tried again,
# on another machine if there is one.
shard="tilecut $step --plan $(printf %q "$plan") --shard {} --threads 1 --progress none"
tilecut missing "$plan" | tr , '\n' | awk -F- 'NF { for (n = $1; n <= $NF; n++) print n }' |
  parallel --retries 5 "$@" "$shard; s=\$?; if [ \$s = 64 ] || [ \$s = 65 ]; then exit 0; fi; exit \$s"
"${last[@]}"
