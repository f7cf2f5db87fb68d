# What the benchmarks of servers share: sourced by scripts that have `work`, a folder of their own, and `pid`, the servers that they started, by name.

# Ends what this script started: TERM, and KILL for what has not gone within five seconds.
finish() {
  local name
  trap - EXIT
  for name in "${!pid[@]}"; do kill -TERM "${pid[$name]}" 2>/dev/null || true; done
  for _ in $(seq 50); do
    for name in "${!pid[@]}"; do kill -0 "${pid[$name]}" 2>/dev/null || unset "pid[$name]"; done
    [ "${#pid[@]}" = 0 ] && break
    sleep 0.1
  done
  for name in "${!pid[@]}"; do
    # shellcheck disable=SC2046
    kill -KILL $(family "${pid[$name]}") 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# family PID: the process and all its descendants
family() {
  local child
  echo "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do family "$child"; done
}
# cpu PID: microseconds of processor time, user and system, of the process and its descendants
cpu() {
  local each
  for each in $(family "$1"); do sed 's/^.*) //' "/proc/$each/stat" 2>/dev/null || true; done |
    awk -v hz="$(getconf CLK_TCK)" '{ s += $12 + $13 } END { printf "%.0f\n", s * 1000000 / hz }'
}
# anonymous PID: RssAnon in kB, of the process and its descendants
anonymous() {
  local each
  for each in $(family "$1"); do grep RssAnon "/proc/$each/status" 2>/dev/null || true; done | awk '{ s += $2 } END { print s }'
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
