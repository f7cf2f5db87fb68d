#!/bin/bash
# Installs the Debian package of `make dist` into a bare Debian without Swift, uses it as its unit and its users do, and
# removes it: test-dist.sh [PACKAGE]
#
# 1. debootstrap makes a minimal root; its archive stays in .build/test-dist for the next run.
# 2. What the package depends on is installed, then the list of all files is taken.
# 3. The package is installed. A sample is cut, a tile is served with the command line of the unit by a user without
#    rights, and the ledger's demonstration runs.
# 4. The package is purged. Nothing may be left: the list of files is compared.
#
# It needs root (for chroot), debootstrap, and a mirror of Debian's packages: MIRROR names one, SUITE the release.
set -euo pipefail
cd "$(dirname "$0")/.."
# In a mount namespace of its own, so that no mount outlives the script.
if [ "${TEST_DIST_INSIDE:-}" != 1 ]; then
  missing=""
  [ "$(id -u)" = 0 ] || missing="$missing; run it as root, because chroot needs that"
  for program in debootstrap unshare chroot curl; do
    command -v "$program" >/dev/null || missing="$missing; install $program"
  done
  unshare --mount true 2>/dev/null || missing="$missing; allow mount namespaces (unshare --mount)"
  [ -z "$missing" ] || {
    echo "test-dist: the package was not tried${missing}" >&2
    exit 1
  }
  TEST_DIST_INSIDE=1 exec unshare --mount "$0" "$@"
fi
architecture=$(dpkg --print-architecture)
package=${1:-$(ls -t .build/dist/map-toolkit_*_"$architecture".deb 2>/dev/null | head -n 1)}
[ -r "$package" ] || {
  echo "test-dist: there is no package in .build/dist; run make dist first" >&2
  exit 1
}
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
work=$PWD/.build/test-dist
base=$work/$suite-$architecture.tar
root=$work/root
log=$work/log
server=""
mkdir -p "$work"
: >"$log"
finish() {
  status=$?
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ "$status" = 0 ] || {
    tail -n 20 "$log" >&2
    echo "test-dist: failed; the whole log is $log" >&2
  }
  wait 2>/dev/null || true
  umount "$root/proc" "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT
fail() {
  echo "test-dist: $*" >&2
  exit 1
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
# A user of the root's own, with no rights beyond a folder.
as_user() { chroot --userspec=65534:65534 "$root" env -i PATH=/usr/bin:/bin HOME=/tmp "$@"; }

rm -rf --one-file-system "$root"
if [ ! -r "$base" ]; then
  echo "making a bare $suite (once)"
  debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >>"$log" 2>&1
  tar -C "$root" -cf "$base.new" .
  mv "$base.new" "$base"
else
  mkdir "$root"
  tar -C "$root" -xf "$base"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
! inside sh -c 'command -v swift' >/dev/null || fail "the root is not bare: it has Swift"

# Without the package itself: what dependencies leave behind is not its fault.
depends=$(dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/([^)]*)//; s/|.*//; s/ //g')
inside apt-get update -qq >>"$log" 2>&1
# Word splitting is wanted: one argument a package.
# shellcheck disable=SC2086
inside apt-get install -y -qq --no-install-recommends $depends >>"$log" 2>&1
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./srv \) -prune -o -print | sort) |
  grep -vE '^\./(var/lib/dpkg/|var/lib/apt/|var/cache/|var/log/|etc/ld\.so\.cache)' || true; }
files >"$work/before"

cp "$package" "$root/tmp/map-toolkit.deb"
inside apt-get install -y -qq --no-install-recommends /tmp/map-toolkit.deb >>"$log" 2>&1
echo "installed: $(basename "$package"), $(inside dpkg-query -W -f '${Installed-Size}' map-toolkit) kB, beside $(echo "$depends" | wc -w | tr -d ' ') packages"
for command in tilecut tileserve purchase-ledger mapstore; do
  echo "  $command $(as_user "$command" --version)"
  [ -e "$root/usr/share/man/man1/$command.1.gz" ] || fail "$command has no manual page"
done
[ -e "$root/usr/share/doc/map-toolkit/docs/reference/exit-codes.md" ] || fail "the package has no documents"
# What people download: no more MB than these.
for limit in tilecut:20 tileserve:30; do
  size=$(stat -c %s "$root/usr/bin/${limit%:*}")
  [ "$size" -le $((${limit#*:} * 1000000)) ] || fail "${limit%:*} has $size bytes, more than ${limit#*:} MB"
done

# --- a sample is cut
mkdir -p "$root/srv/maps"
chown 65534:65534 "$root/srv" "$root/srv/maps"
cp sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif "$root/srv/park.tif"
as_user tilecut cut /srv/park.tif -o /srv/park.mbtiles --progress none >>"$log" 2>&1 || fail "the sample was not cut"
as_user tilecut verify /srv/park.mbtiles >>"$log" 2>&1 || fail "the bundle is not valid"
echo "cut: park.mbtiles, $(stat -c %s "$root/srv/park.mbtiles") bytes, which tilecut verify accepts"

# --- a tile is served with the unit's own command line
unit=$root/lib/systemd/system/tileserve.service
setting() { sed -n "s/^$1=//p" "$unit"; }
state=$root/var/lib/$(setting StateDirectory)
install -d -o 65534 -g 65534 "$state"
cp "$root/srv/park.mbtiles" "$state/"
PORT=$(shuf -i 20000-60000 -n 1)
line=$(setting ExecStart | sed "s/\${PORT}/$PORT/")
case "$line" in *'$'*) fail "the unit's command line has a variable that this script does not know: $line" ;; esac
# The job is the server itself, not a shell that waits for it, so that the signal reaches it.
# shellcheck disable=SC2086
(exec chroot --userspec=65534:65534 "$root" env -i PATH=/usr/bin:/bin HOME=/tmp $line) >>"$log" 2>&1 &
server=$!
tries=0
until curl -fsS -o "$work/park.json" "http://127.0.0.1:$PORT/park.json" 2>/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] && kill -0 "$server" 2>/dev/null || fail "the server does not answer: $line"
  sleep 0.1
done
curl -fsS -o "$work/tile.png" "http://127.0.0.1:$PORT/park/0/0/0.png" || fail "no tile is served"
head -c 8 "$work/tile.png" | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a' || fail "what is served is no PNG"
kill "$server"
wait "$server" || fail "the server did not end cleanly"
server=""
echo "served: a tile of $(stat -c %s "$work/tile.png") bytes, by: $line"
rm -r "$state"

# --- the ledger's demonstration
as_user purchase-ledger demo >"$work/ledger.log" 2>&1 || {
  cat "$work/ledger.log" >>"$log"
  fail "the ledger's demonstration failed"
}
echo "the ledger's demonstration: $(grep -c '^== ' "$work/ledger.log") steps"

# --- and nothing is left
inside apt-get purge -y -qq map-toolkit >>"$log" 2>&1
files >"$work/after"
diff "$work/before" "$work/after" >"$work/left" || {
  cat "$work/left" >&2
  fail "removing the package does not leave the system as it was (< missing, > left over)"
}
for command in tilecut tileserve purchase-ledger mapstore; do
  ! inside sh -c "command -v $command" >/dev/null || fail "$command is still there"
done
echo "removed: nothing is left of it"
