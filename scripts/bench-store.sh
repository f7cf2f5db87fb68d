#!/bin/bash
# mapstore under load over loopback: a bundle of 100 MB beside nginx, which has the same file, interleaved; libraries of 170 regions; purchases, each durable when it is answered.
#
#   BENCH_SECONDS      of one measurement (10)      BENCH_ROUNDS       rounds, of which medians are printed (3)
#   BENCH_CONNECTIONS  (64)                         BENCH_PURCHASES    that are posted (20000; 5000 or more)
#   BENCH_SCRATCH      the folder of the map store's files (/tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
scripts=$(pwd)/scripts
mapstore=${MAPSTORE:-$(pwd)/.build/release/mapstore}
bench=${STORE_BENCH:-$(pwd)/.build/release/StoreBench}
seconds=${BENCH_SECONDS:-10}
rounds=${BENCH_ROUNDS:-3}
connections=${BENCH_CONNECTIONS:-64}
purchases=${BENCH_PURCHASES:-20000}

if [ ! -d /proc/self ] || ! command -v wrk >/dev/null || ! command -v python3 >/dev/null; then
  echo "bench-store skipped: needs Linux, wrk and python3 (scripts/install-packages.sh --bench)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/bench-store-XXXXXX")
# nginx reads as another user when root starts it.
chmod 755 "$work"
declare -A pid=() port=()

# shellcheck source=scripts/bench-servers.sh
. "$scripts/bench-servers.sh"
await() {
  for _ in $(seq 100); do
    if curl -s -o /dev/null "http://127.0.0.1:${port[$1]}/"; then return 0; fi
    kill -0 "${pid[$1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "$1 does not answer; its log ends with"
  tail -n 5 "$work/$1.log" | sed 's/^/  /'
  return 1
}
failed=0
# verdict WHAT FOUND LEAST|MOST WANTED UNIT
verdict() {
  if ! awk -v what="$1" -v found="$2" -v comparison="$3" -v wanted="$4" -v unit="$5" 'BEGIN {
    ok = comparison == "least" ? found >= wanted : found <= wanted
    printf "  %-44s %9.2f %s  (wanted: at %s %s)  %s\n", what, found, unit, comparison, wanted, ok ? "MET" : "NOT MET"
    exit !ok
  }'; then failed=1; fi
}

echo "a map store of 170 regions, $purchases signed purchases ..."
"$bench" prepare "$work" "$purchases"

start_mapstore() {
  port[mapstore]=$(free_port)
  MAPSTORE_LOG_LEVEL=warning "$mapstore" serve --config "$work/store.json" --port "${port[mapstore]}" >"$work/mapstore.log" 2>&1 &
  pid[mapstore]=$!
  await mapstore
}
start_nginx() {
  local nginx
  nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || {
    echo "nginx is missing (apt-get install nginx-light): downloads are measured without it"
    return 0
  }
  port[nginx]=$(free_port)
  mkdir -p "$work/nginx"
  cat >"$work/nginx.conf" <<CONF
daemon off;
$([ "$(id -u)" = 0 ] && echo "user nobody nogroup;")
worker_processes 2;
pid $work/nginx/pid;
error_log $work/nginx.log error;
events { worker_connections 4096; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65;
  keepalive_requests 100000000;
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
  server {
    listen 127.0.0.1:${port[nginx]} backlog=1024;
    root $work/catalogue;
  }
}
CONF
  "$nginx" -e "$work/nginx.log" -c "$work/nginx.conf" >>"$work/nginx.log" 2>&1 &
  pid[nginx]=$!
  await nginx
}
start_mapstore
start_nginx
"$bench" customers "$work" "${port[mapstore]}" 64
"$bench" questions "$work" 1024
head -n 1 "$work/questions" >"$work/question"

# --- libraries
# libraries WHAT FILE: the questions of a file in turn
libraries() {
  local before
  echo
  echo "$1, $connections connections, $rounds rounds of $seconds s, medians"
  rm -f "$work/libraries"
  for _ in $(seq "$rounds"); do
    before=$(cpu "${pid[mapstore]}")
    wrk -t 2 -c "$connections" -d "${seconds}s" --timeout 10s --latency -s "$scripts/libraries.lua" \
      "http://127.0.0.1:${port[mapstore]}" -- "$2" >"$work/wrk"
    awk -v cpu=$(($(cpu "${pid[mapstore]}") - before)) '
      /requests in/ { n = $1 } / 99%/ { p99 = $2 } /Requests\/sec/ { rate = $2 } /Non-2xx|Socket errors/ { bad = 1 }
      END { printf "%.0f %.1f %s %d\n", rate, cpu / (n > 0 ? n : 1), p99, bad }' "$work/wrk" >>"$work/libraries"
  done
  if [ "$(awk '{ s += $4 } END { print s }' "$work/libraries")" != 0 ]; then
    echo "  there were errors: the figures are worthless"
    failed=1
  fi
  echo "  CPU per request $(awk '{ print $2 }' "$work/libraries" | median) us, p99 $(awk '{ print $3 }' "$work/libraries" | sort -V | median)"
  verdict "$3" "$(awk '{ print $1 }' "$work/libraries" | median)" least 5000 "a second"
}
libraries "one library of 170 regions, 20 of them owned" "$work/question" "libraries, the same again and again"
libraries "1024 different libraries: 64 accounts with 20 regions each, 16 devices of each" "$work/questions" "libraries, all different"
idle=$(anonymous "${pid[mapstore]}")
peak=$idle

# --- downloads
# download NAME: appends "bytes/s CPU/GB errors"
download() {
  local before result list=$work/links
  if [ "$1" = mapstore ]; then
    # A link counts once, so there have to be enough.
    "$bench" links "$work" "${port[mapstore]}" $((seconds * 60 + connections))
  else
    list=$work/plain
  fi
  before=$(cpu "${pid[$1]}")
  wrk -t 2 -c "$connections" -d "${seconds}s" --timeout 60s -s "$scripts/links.lua" "http://127.0.0.1:${port[$1]}" -- "$list" >"$work/wrk" &
  local load=$!
  while kill -0 "$load" 2>/dev/null; do
    if [ "$1" = mapstore ]; then
      local now
      now=$(anonymous "${pid[mapstore]}")
      [ "${now:-0}" -le "$peak" ] || peak=$now
    fi
    sleep 0.2
  done
  wait "$load"
  result=$(grep '^result ' "$work/wrk")
  echo "$result $(($(cpu "${pid[$1]}") - before))" |
    awk '{ printf "%.1f %.3f %d\n", $4 / $3, $6 / 1e6 / ($4 / 1e9), $5 }' >>"$work/downloads.$1"
}
for _ in $(seq $((seconds * 60 + connections))); do echo /region-0-2026.1.mbtiles; done >"$work/plain"
echo
echo "a bundle of 100 MB, $connections connections, $rounds rounds of $seconds s, medians"
servers="mapstore"
[ -n "${pid[nginx]:-}" ] && servers="mapstore nginx"
for _ in $(seq "$rounds"); do
  for name in $servers; do download "$name"; done
done
for name in $servers; do
  if [ "$(awk '{ s += $3 } END { print s }' "$work/downloads.$name")" != 0 ]; then
    echo "  $name: there were errors: the figures are worthless"
    failed=1
  fi
  printf '  %-10s %9.0f MB/s %8.3f s of CPU per GB\n' "$name" "$(awk '{ print $1 }' "$work/downloads.$name" | median)" \
    "$(awk '{ print $2 }' "$work/downloads.$name" | median)"
done
if [ -n "${pid[nginx]:-}" ]; then
  # The ratio of each round, so that what else the machine did counts for both.
  verdict "bytes a second, of nginx's" "$(paste -d ' ' "$work/downloads.mapstore" "$work/downloads.nginx" |
    awk '{ print $1 / $4 }' | median)" least 0.8 ""
fi
printf '  RssAnon of mapstore: %.1f MB before, at most %.1f MB\n' "$(awk "BEGIN { print $idle / 1024 }")" "$(awk "BEGIN { print $peak / 1024 }")"
# Two pieces of 256 kB for each connection.
verdict "memory that downloads take" "$(awk "BEGIN { print ($peak - $idle) / 1024 }")" most 32 MB

# --- purchases
echo
echo "$(wc -l <"$work/signed") purchases, one a request, $connections connections"
before=$(cpu "${pid[mapstore]}")
result=$("$bench" buy "$work" "${port[mapstore]}" "$connections")
echo "$result $(($(cpu "${pid[mapstore]}") - before))" |
  awk '{ printf "%.0f %.1f %.1f %.1f %d\n", $2 / $3 * 1e6, $4 / 1e3, $5 / 1e3, $7 / $2, $6 }' >"$work/purchases"
read -r rate p50 p99 each errors <"$work/purchases"
echo "  CPU per purchase $each us, p50 $p50 ms, p99 $p99 ms, $errors not recorded"
[ "$errors" = 0 ] || failed=1
verdict "purchases" "$rate" least 1000 "a second"
# Killed, so that what is there was on the disk when it was answered, as far as the process goes.
kill -KILL "${pid[mapstore]}"
wait "${pid[mapstore]}" 2>/dev/null || true
unset "pid[mapstore]"
if ! "$bench" check "$work" | sed 's/^/  /'; then failed=1; fi
exit "$failed"
