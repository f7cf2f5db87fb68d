#!/bin/bash
# tileserve beside nginx (the same tiles as files), mod_tile (as metatiles) and MapProxy (the same bundle) in one run, interleaved, over loopback.
#
#   BENCH_RASTERS      folder with the benchmark rasters (docs/reference/performance.md); without it the sample regions are cut deep
#   BENCH_SECONDS      of one measurement (10)      BENCH_ROUNDS       rounds, of which medians are printed (3)
#   BENCH_CONNECTIONS  ("64 256")                   BENCH_PEERS        ("nginx mod_tile mapproxy")
#   BENCH_SCRATCH      where the tiles are put (/tmp): three copies of them
set -euo pipefail
cd "$(dirname "$0")/.."
scripts=$(pwd)/scripts
tilecut=${TILECUT:-$(pwd)/.build/release/tilecut}
tileserve=${TILESERVE:-$(pwd)/.build/release/tileserve}
rasters=${BENCH_RASTERS:-}
seconds=${BENCH_SECONDS:-10}
rounds=${BENCH_ROUNDS:-3}
connections=${BENCH_CONNECTIONS:-64 256}
wanted_peers=${BENCH_PEERS:-nginx mod_tile mapproxy}

if [ ! -d /proc/self ] || ! command -v wrk >/dev/null || ! command -v python3 >/dev/null; then
  echo "bench-serve skipped: needs Linux, wrk and python3 (scripts/install-packages.sh --bench)"
  exit 0
fi
work=$(mktemp -d "${BENCH_SCRATCH:-/tmp}/bench-serve-XXXXXX")
# The peers read as another user when root starts them.
chmod 755 "$work"
declare -A pid=() port=() prefix=()

# shellcheck source=scripts/bench-servers.sh
. "$scripts/bench-servers.sh"
log_end() { tail -n 5 "$work/$1.log" | sed 's/^/  /'; }

# --- the tiles
sets=()
# cut ID RASTER OPTIONS...
cut_set() {
  local id=$1
  shift
  "$tilecut" cut "$@" -o "$work/bundles/$id.mbtiles" --progress none >/dev/null
  mkdir -p "$work/files/$id" "$work/metatiles/$id"
  echo "$id: $(python3 "$scripts/export-tiles.py" "$work/bundles/$id.mbtiles" --files "$work/files/$id" \
    --metatiles "$work/metatiles/$id" --paths "$work/$id.paths")"
  sets+=("$id")
}
mkdir -p "$work/bundles" "$work/files" "$work/metatiles"
if [ -n "$rasters" ]; then
  [ -f "$rasters/c_flat_3857.tif" ] && cut_set drawn-map "$rasters/c_flat_3857.tif"
  if [ -f "$rasters/b_imagery_3857.tif" ]; then
    cut_set imagery "$rasters/b_imagery_3857.tif"
  elif [ -f "$rasters/a_relief_4326.tif" ]; then
    cut_set imagery "$rasters/a_relief_4326.tif"
  fi
  if [ "${#sets[@]}" = 0 ]; then
    echo "BENCH_RASTERS names a folder without c_flat_3857.tif, b_imagery_3857.tif and a_relief_4326.tif (docs/reference/performance.md says how to make them)"
    exit 1
  fi
else
  echo "BENCH_RASTERS is not set: the sample regions stand in for the benchmark rasters"
  cut_set relief sample-regions/continental-us/regions.json --zoom 0-8
  cut_set imagery sample-regions/rocky-mountain-np/regions.json --zoom 0-14
fi

# --- the servers; each two processes or loops where it has such a number
servers=()
# started NAME ID-PREFIX: waits until the server gives the tile that the bundle has, byte for byte, for several tiles of each set
started() {
  local name=$1 id path
  for _ in $(seq 100); do
    if ! kill -0 "${pid[$name]}" 2>/dev/null; then break; fi
    if curl -s -o /dev/null "http://127.0.0.1:${port[$name]}/"; then break; fi
    sleep 0.1
  done
  for id in "${sets[@]}"; do
    for path in $(head -n 20 "$work/$id.paths"); do
      if ! curl -s --max-time 10 "http://127.0.0.1:${port[$name]}${prefix[$name]//ID/$id}$path" | cmp -s - "$work/files/$id$path"; then
        echo "$name is left out: it does not give tile $id$path as it is in the bundle; its log ends with"
        log_end "$name"
        kill -TERM "${pid[$name]}" 2>/dev/null || true
        return 0
      fi
    done
  done
  servers+=("$name")
}

start_tileserve() {
  port[tileserve]=$(free_port)
  prefix[tileserve]=/ID
  "$tileserve" "$work/bundles" --port "${port[tileserve]}" --threads 2 >"$work/tileserve.log" 2>&1 &
  pid[tileserve]=$!
  started tileserve
}

start_nginx() {
  local nginx
  nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || {
    echo "nginx is missing (apt-get install nginx-light)"
    return 0
  }
  port[nginx]=$(free_port)
  prefix[nginx]=/ID
  mkdir -p "$work/nginx"
  cat >"$work/nginx.conf" <<CONF
daemon off;
$([ "$(id -u)" = 0 ] && echo "user nobody nogroup;")
worker_processes 2;
pid $work/nginx/pid;
error_log $work/nginx.log error;
events { worker_connections 4096; }
http {
  types { image/png png; }
  access_log off;
  sendfile on;
  tcp_nopush on;
  etag on;
  keepalive_timeout 65;
  keepalive_requests 100000000;
  open_file_cache max=20000 inactive=10m;
  open_file_cache_valid 10m;
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
  server {
    listen 127.0.0.1:${port[nginx]} backlog=1024;
    root $work/files;
    add_header Cache-Control "public, max-age=300";
  }
}
CONF
  "$nginx" -e "$work/nginx.log" -c "$work/nginx.conf" >>"$work/nginx.log" 2>&1 &
  pid[nginx]=$!
  started nginx
}

# mod_tile asks renderd only for tiles that are missing or older than three days, so metatiles that were just written need none.
start_mod_tile() {
  local id threads modules=/usr/lib/apache2/modules
  if [ ! -x /usr/sbin/apache2 ] || [ ! -f $modules/mod_tile.so ]; then
    echo "mod_tile is missing (apt-get install apache2-bin libapache2-mod-tile)"
    return 0
  fi
  port[mod_tile]=$(free_port)
  prefix[mod_tile]=/ID
  {
    printf '[renderd]\ntile_dir=%s\n[mapnik]\n' "$work/metatiles"
    for id in "${sets[@]}"; do printf '[%s]\nURI=/%s/\nXML=/dev/null\nHOST=localhost\nMAXZOOM=20\n' "$id" "$id"; done
  } >"$work/renderd.conf"
  mkdir -p "$work/apache"
  # shellcheck disable=SC2086
  threads=$(($(printf '%s\n' $connections | sort -n | tail -n 1) + 44))
  cat >"$work/apache.conf" <<CONF
ServerRoot $work/apache
ServerName localhost
PidFile $work/apache/pid
DefaultRuntimeDir $work/apache
Mutex file:$work/apache default
ErrorLog $work/mod_tile.log
LogLevel error
Listen 127.0.0.1:${port[mod_tile]}
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule tile_module $modules/mod_tile.so
$([ "$(id -u)" = 0 ] && printf 'User nobody\nGroup nogroup\n')
# In each process a thread for every connection and some: with fewer it resets connections.
StartServers 2
ServerLimit 2
ThreadLimit $threads
ThreadsPerChild $threads
MaxRequestWorkers $((2 * threads))
MinSpareThreads 1
MaxSpareThreads $((2 * threads))
KeepAlive On
KeepAliveTimeout 65
MaxKeepAliveRequests 0
DocumentRoot $work/apache
# The order matters: layers take the folder that was named before them.
ModTileTileDir $work/metatiles
LoadTileConfigFile $work/renderd.conf
ModTileRenderdSocketName $work/apache/no-renderd
ModTileEnableStats Off
ModTileMissingRequestTimeout 1
ModTileRequestTimeout 1
CONF
  /usr/sbin/apache2 -f "$work/apache.conf" -DFOREGROUND >>"$work/mod_tile.log" 2>&1 &
  pid[mod_tile]=$!
  started mod_tile
}

start_mapproxy() {
  local id
  if [ ! -x /usr/bin/gunicorn ] || [ ! -x /usr/bin/mapproxy-util ]; then
    echo "MapProxy is missing (apt-get install mapproxy gunicorn)"
    return 0
  fi
  port[mapproxy]=$(free_port)
  # The first level of MapProxy's TMS is the zoom 0 of everybody else only under /tiles.
  prefix[mapproxy]=/tiles/ID/GLOBAL_MERCATOR
  mkdir -p "$work/mapproxy"
  {
    printf 'services:\n  tms:\n    use_grid_names: true\n    origin: nw\nlayers:\n'
    for id in "${sets[@]}"; do printf '  - {name: %s, title: %s, sources: [%s]}\n' "$id" "$id" "$id"; done
    printf 'caches:\n'
    for id in "${sets[@]}"; do
      printf '  %s: {grids: [GLOBAL_MERCATOR], sources: [], format: image/png, cache: {type: mbtiles, filename: %s/mapproxy/%s.mbtiles}}\n' \
        "$id" "$work" "$id"
      # A copy, since MapProxy opens its caches for writing.
      cp "$work/bundles/$id.mbtiles" "$work/mapproxy/"
    done
    printf 'globals:\n  cache: {base_dir: %s/mapproxy, lock_dir: %s/mapproxy/locks}\n' "$work" "$work"
  } >"$work/mapproxy.yaml"
  printf 'from mapproxy.wsgiapp import make_wsgi_app\napplication = make_wsgi_app("%s")\n' "$work/mapproxy.yaml" >"$work/mapproxy/bench_mapproxy.py"
  # Threads, because gunicorn's plain workers close the connection after each answer.
  /usr/bin/gunicorn --chdir "$work/mapproxy" --bind "127.0.0.1:${port[mapproxy]}" --workers 2 --worker-class gthread --threads 4 \
    --worker-connections 2000 --keep-alive 65 --timeout 120 --worker-tmp-dir /dev/shm --log-level error bench_mapproxy:application >"$work/mapproxy.log" 2>&1 &
  pid[mapproxy]=$!
  started mapproxy
}

start_tileserve
if [ "${#servers[@]}" = 0 ]; then exit 1; fi
for peer in $wanted_peers; do "start_$peer"; done

# --- the measuring
# load NAME SET CONNECTIONS SECONDS: the line of random-tiles.lua
load() {
  timeout $(($4 + 30)) wrk -t 2 -c "$3" -d "${4}s" --timeout 10s -s "$scripts/random-tiles.lua" "http://127.0.0.1:${port[$1]}" -- \
    "$work/$2.paths" "${prefix[$1]//ID/$2}" | grep '^result '
}
# measure NAME SET CONNECTIONS: appends "requests/s p50 p99 CPU/request errors RssAnon"
measure() {
  local before after result
  before=$(cpu "${pid[$1]}")
  result=$(load "$1" "$2" "$3" "$seconds")
  after=$(cpu "${pid[$1]}")
  echo "$result $((after - before)) $(anonymous "${pid[$1]}")" |
    awk '{ printf "%.1f %.3f %.3f %.1f %d %.1f\n", $2 / $3 * 1e6, $4 / 1e3, $5 / 1e3, $7 / ($2 > 0 ? $2 : 1), $6, $8 / 1024 }' >>"$work/$2.$3.$1"
}
# figure NAME SET CONNECTIONS COLUMN: the median of the rounds
figure() { awk -v column="$4" '{ print $column }' "$work/$2.$3.$1" | median; }
failed=0
# ratio WHAT A B COMPARISON WANTED
ratio() {
  awk -v what="$1" -v a="$2" -v b="$3" -v comparison="$4" -v wanted="$5" 'BEGIN {
    r = b > 0 ? a / b : 0
    ok = comparison == "least" ? r >= wanted : r <= wanted
    printf "  %-34s %6.2f  (wanted: at %s %s)  %s\n", what, r, comparison, wanted, ok ? "ok" : "NOT MET"
  }'
}

for id in "${sets[@]}"; do
  # Pages are read and connections made once before anything is measured.
  for name in "${servers[@]}"; do load "$name" "$id" 64 1 >/dev/null; done
  for count in $connections; do
    for _ in $(seq "$rounds"); do
      for name in "${servers[@]}"; do measure "$name" "$id" "$count"; done
    done
    echo
    echo "$id, $count connections, $rounds rounds of $seconds s, medians"
    printf '  %-10s %12s %9s %9s %14s %8s %12s\n' server requests/s p50 p99 'CPU/request' errors RssAnon
    for name in "${servers[@]}"; do
      errors=$(awk '{ s += $5 } END { print s }' "$work/$id.$count.$name")
      printf '  %-10s %12.0f %6.2f ms %6.2f ms %11.1f us %8d %9.1f MB\n' "$name" "$(figure "$name" "$id" "$count" 1)" \
        "$(figure "$name" "$id" "$count" 2)" "$(figure "$name" "$id" "$count" 3)" "$(figure "$name" "$id" "$count" 4)" \
        "$errors" "$(figure "$name" "$id" "$count" 6)"
      if [ "$errors" != 0 ]; then failed=1; fi
    done
    for name in "${servers[@]:1}"; do
      if [ "$name" = nginx ]; then
        ratio "requests/s, of nginx's" "$(figure tileserve "$id" "$count" 1)" "$(figure nginx "$id" "$count" 1)" least 0.9
        ratio "CPU per request, of nginx's" "$(figure tileserve "$id" "$count" 4)" "$(figure nginx "$id" "$count" 4)" most 2.0
        ratio "p99, of nginx's" "$(figure tileserve "$id" "$count" 3)" "$(figure nginx "$id" "$count" 3)" most 1.5
      else
        ratio "requests/s, of $name's" "$(figure tileserve "$id" "$count" 1)" "$(figure "$name" "$id" "$count" 1)" least 4
      fi
    done
  done
done
if [ "$failed" = 1 ]; then
  echo
  echo "there were errors: what a server did not answer with a tile makes its figures worthless"
  exit 1
fi
