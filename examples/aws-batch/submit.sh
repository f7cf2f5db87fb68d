#!/bin/bash
# Cuts a plan's shards as array jobs of AWS Batch, and merges them. Needs the AWS command line, a queue, and the job
# definition beside this script: put in your image, which the Dockerfile of this package makes, and your file system,
# an EFS that the image's user (10001) may write. The plan lies there, and is made with it mounted at /maps too.
#
#   aws batch register-job-definition --cli-input-json file://job-definition.json
#   submit.sh QUEUE PLAN OUTPUT SHARDS     cuts, and merges into OUTPUT, which is replaced
#   submit.sh QUEUE PLAN - SHARDS          makes and publishes a shelf, for a plan of `tilecut plan --catalogue`
#
# PLAN and OUTPUT are paths in the container; SHARDS is their number, which `tilecut plan` prints. An array has at most
# 10,000 jobs, and at least 2.
#
# A job that ends with 64 or 65 fails; any other failure, also the loss of a spot instance, is tried again, five times
# at most. The last step does not start if a shard fails. Mend the cause and submit again: a shard that is done ends at
# once.
set -euo pipefail
usage="usage: submit.sh QUEUE PLAN OUTPUT SHARDS"
queue=${1:?$usage} plan=${2:?$usage} output=${3:?$usage} shards=${4:?$usage}
most=10000
step=cut
last='["tilecut","merge","--plan","'$plan'","-o","'$output'","--force"]'
if [ "$output" = - ]; then
  step=build
  last='["tilecut","build","--plan","'$plan'","--progress","none"]'
fi
depends=()
for ((first = 0; first < shards; first += most)); do
  size=$((shards - first < most ? shards - first : most))
  command='["tilecut","'$step'","--plan","'$plan'","--shard","auto+'$first'"'
  command=$command',"--threads","1","--progress","none"]'
  array=(--array-properties "size=$size")
  if [ "$size" = 1 ]; then
    # One job is no array, and has no index.
    array=()
    command=${command/auto/0}
  fi
  job=$(aws batch submit-job --job-name "tilecut-$first" --job-queue "$queue" --job-definition tilecut \
    ${array[@]+"${array[@]}"} --container-overrides "{\"command\": $command}" --query jobId --output text)
  depends+=("jobId=$job")
done
aws batch submit-job --job-name tilecut-merge --job-queue "$queue" --job-definition tilecut \
  --depends-on "${depends[@]}" --query jobId --output text \
  --container-overrides "{\"command\": $last}"
