#!/bin/bash
# Loads tileserve with random tiles of all kinds and watches its memory: exits with 1 when RssAnon was ever above the cache budget + 30 MB, a request
# failed, or descriptors were left over.
#
#   SOAK_SECONDS  (3600)   SOAK_CACHE  the cache's budget in MB (64)   SOAK_CONNECTIONS  (64)
#   SOAK_BUNDLES  where the bundles are kept from run to run; without it they are made anew (about a minute, 650 MB in SOAK_SCRATCH or /tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
scripts=$(pwd)/scripts
tileserve=${TILESERVE:-$(pwd)/.build/release/tileserve}
seconds=${SOAK_SECONDS:-3600}
cache=${SOAK_CACHE:-64}
connections=${SOAK_CONNECTIONS:-64}
if [ ! -d /proc/self ] || ! command -v wrk >/dev/null || ! command -v python3 >/dev/null; then
  echo "soak skipped: needs Linux, wrk and python3 (scripts/install-packages.sh --bench)"
  exit 0
fi
work=$(mktemp -d "${SOAK_SCRATCH:-/tmp}/soak-XXXXXX")
server=""
load=""
finish() {
  trap - EXIT
  for process in $load $server; do kill -TERM "$process" 2>/dev/null || true; done
  for _ in $(seq 50); do
    { [ -n "$server" ] && kill -0 "$server" 2>/dev/null; } || break
    sleep 0.1
  done
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

bundles=${SOAK_BUNDLES:-$work/bundles}
if [ ! -f "$bundles/base.mbtiles" ] || [ ! -f "$bundles/overlay.mbtiles" ]; then
  python3 "$scripts/soak-bundles.py" "$bundles"
fi

"$tileserve" "$bundles" --port 0 --missing overzoom --cache "${cache}MB" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 100); do
  url=$(sed -n 's/^viewer: *\(http.*\)\/$/\1/p' "$work/log")
  { [ -n "$url" ] && curl -s -o /dev/null "$url/health"; } && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
if [ -z "${url:-}" ]; then
  echo "tileserve did not start:"
  cat "$work/log"
  exit 1
fi

# In MB. From /proc rather than /metrics, so that the watching is not part of what is watched.
anonymous() { awk '/RssAnon/ { printf "%.1f", $2 / 1024 }' "/proc/$server/status"; }
descriptors() { find "/proc/$server/fd" -mindepth 1 | wc -l; }
for path in base/0/0/0.png overlay/0/0/0.png; do curl -sf -o /dev/null "$url/$path"; done
descriptors_before=$(descriptors)
echo "$seconds s of random tiles on $connections connections, cache ${cache} MB; RssAnon $(anonymous) MB and $descriptors_before descriptors at the start"

timeout $((seconds + 60)) wrk -t 1 -c "$connections" -d "${seconds}s" --timeout 10s -s "$scripts/soak-requests.lua" "$url" >"$work/wrk" &
load=$!
begin=$SECONDS
printed=-1
most=0
most_descriptors=0
while kill -0 "$load" 2>/dev/null; do
  sleep 5 &
  wait $!
  kill -0 "$server" 2>/dev/null || break
  now=$(anonymous)
  open=$(descriptors)
  most=$(awk -v a="$most" -v b="$now" 'BEGIN { print (a > b ? a : b) }')
  if [ "$open" -gt "$most_descriptors" ]; then most_descriptors=$open; fi
  # Every sample counts; twenty or so are printed.
  step=$(((SECONDS - begin) * 20 / seconds))
  if [ "$step" != "$printed" ]; then
    printf '  %5d s  RssAnon %6.1f MB  %4d descriptors\n' $((SECONDS - begin)) "$now" "$open"
    printed=$step
  fi
done
status=0
wait "$load" || status=$?
load=""
if ! kill -0 "$server" 2>/dev/null; then
  echo "tileserve has ended; its log:"
  tail -n 20 "$work/log"
  server=""
  exit 1
fi
# Connections that wrk has left are noticed at once, but not in no time.
sleep 2
descriptors_after=$(descriptors)
failed=0
read -r _ requests p50 p99 connect broken statuses timeouts < <(grep '^result ' "$work/wrk") || {
  echo "wrk ended with $status and no result:"
  cat "$work/wrk"
  exit 1
}
echo "$requests requests, p50 $((p50 / 1000)) ms, p99 $((p99 / 1000)) ms; errors: $connect to connect, $broken broken, $statuses refused, $timeouts late"
if [ $((connect + broken + statuses + timeouts)) != 0 ]; then failed=1; fi
curl -s "$url/metrics" | awk '/^tileserve_(requests_total|cache_|connections_dropped)/ { print "  " $0 }'
if awk -v most="$most" -v limit=$((cache + 30)) 'BEGIN { exit !(most <= limit) }'; then word=ok; else word="NOT MET"; failed=1; fi
echo "RssAnon at most $most MB (wanted: at most $cache + 30 MB)  $word"
# What stays open are the bundles, once for each thread that read them.
if [ "$descriptors_after" -le $((descriptors_before + 16)) ]; then word=ok; else word="NOT MET"; failed=1; fi
echo "descriptors $descriptors_before at the start, $most_descriptors at most, $descriptors_after at the end (wanted: at most 16 more than at the start)  $word"
grep -iE 'warning|error|critical' "$work/log" | tail -n 5 || true
exit $failed
