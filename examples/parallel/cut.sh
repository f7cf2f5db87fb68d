#!/bin/bash
# Cuts the shards of a plan with GNU parallel, on this machine or over ssh, and merges them:
#
#   cut.sh PLAN OUTPUT [options of parallel, such as -j 4, or -S node1,node2 or --sshloginfile FILE]
#
# The plan lies on a disk that all machines share, under the same path, and tilecut is in their PATH.
set -euo pipefail
plan=$(realpath "${1:?usage: cut.sh PLAN OUTPUT [options of parallel]}")
output=${2:?usage: cut.sh PLAN OUTPUT [options of parallel]}
shift 2
# 64 and 65 would be the same at the next attempt: the merge names those shards. Any other failure is tried again, on
# another machine if there is one.
shard="tilecut cut --plan $(printf %q "$plan") --shard {} --threads 1 --progress none"
tilecut missing "$plan" | tr , '\n' | awk -F- 'NF { for (n = $1; n <= $NF; n++) print n }' |
  parallel --retries 5 "$@" "$shard; s=\$?; if [ \$s = 64 ] || [ \$s = 65 ]; then exit 0; fi; exit \$s"
tilecut merge --plan "$plan" -o "$output"
