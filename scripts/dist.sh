#!/bin/bash
# Writes what people install into .build/dist: a tarball of PREFIX=/usr/local and a Debian package of PREFIX=/usr.
#
#   dist.sh [VERSION]     the commands' own version unless given; BINARIES names the folder with the built commands
set -euo pipefail
cd "$(dirname "$0")/.."
binaries=${BINARIES:-.build/release}
version=${1:-$("$binaries/tilecut" --version)}
out=$PWD/.build/dist
architecture=$(dpkg --print-architecture 2>/dev/null || uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
# Equal commits give equal archives.
stamp=$(git log -1 --format=%ct 2>/dev/null || date +%s)
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$stamp" -C "$1" -czf "$2" .; }

DESTDIR=$work/tar BINARIES=$binaries scripts/install.sh /usr/local
# Where the tarball is unpacked, folders such as bin may be there: the list names the toolkit's own folders alone.
sed -i '\|/$|{\|map-toolkit|!d}' "$work/tar/usr/local/share/map-toolkit/installed"
echo share/map-toolkit/systemd/ >>"$work/tar/usr/local/share/map-toolkit/installed"
for unit in packaging/systemd/*.{service,timer}; do
  name=share/map-toolkit/systemd/$(basename "$unit")
  mkdir -p "$work/tar/usr/local/share/map-toolkit/systemd"
  sed 's|/usr/bin/|/usr/local/bin/|' "$unit" >"$work/tar/usr/local/$name"
  echo "$name" >>"$work/tar/usr/local/share/map-toolkit/installed"
done
tarball=$out/map-toolkit-$version-linux-$architecture.tar.gz
pack "$work/tar/usr/local" "$tarball"
echo "$tarball ($(($(stat -c %s "$tarball") / 1000000)) MB): unpack it into /usr/local"

if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
  echo "no Debian package is made: it needs dpkg-deb and dpkg-shlibdeps (apt-get install dpkg-dev)"
  exit 0
fi
tree=$work/deb
DESTDIR=$tree BINARIES=$binaries scripts/install.sh /usr >/dev/null
# dpkg keeps its own list.
rm "$tree/usr/share/map-toolkit/installed"
rmdir --ignore-fail-on-non-empty "$tree/usr/share/map-toolkit"
for unit in packaging/systemd/*.{service,timer}; do install -D -m 644 "$unit" "$tree/lib/systemd/system/$(basename "$unit")"; done
install -d "$tree/DEBIAN" "$tree/etc/map-toolkit" "$work/debian"
printf 'Source: map-toolkit\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info deb/usr/bin/* 2>"$work/shlibdeps.log" |
  sed -n 's/^shlibs:Depends=//p') || {
  cat "$work/shlibdeps.log" >&2
  exit 1
}
# What tilecut loads when it needs it (CLazyLibrary), which dpkg-shlibdeps cannot see.
for library in libproj.so.25 libgeotiff.so.5 libcurl-gnutls.so.4; do
  package=$(dpkg -S "*/$library" | head -n 1 | cut -d: -f1)
  case ", $depends," in *", $package,"* | *", $package ("*) ;; *) depends="$depends, $package" ;; esac
done
cat >"$tree/DEBIAN/control" <<CONTROL
Package: map-toolkit
Version: $version
Architecture: $architecture
Maintainer: The map toolkit's maintainers <maintainers@example.invalid>
Section: science
Priority: optional
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: $depends, proj-data
Recommends: ca-certificates, libimagequant0, libastcenc3d, libcairo2, libpangocairo-1.0-0, librsvg2-2, fonts-open-sans
Description: cuts, serves and sells offline raster maps
 tilecut cuts rasters into tile bundles, tileserve serves them over HTTP,
 purchase-ledger records what app stores sold, and mapstore sells regions
 to devices. The servers and the nightly jobs of the ledger have systemd
 units, which are not enabled.
CONTROL
cat >"$tree/DEBIAN/postinst" <<'POSTINST'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
POSTINST
cat >"$tree/DEBIAN/prerm" <<'PRERM'
#!/bin/sh
set -e
if [ -d /run/systemd/system ] && [ "$1" = remove ]; then
  systemctl disable --now tileserve.service mapstore.service 'purchase-ledger-*.timer' || true
fi
PRERM
chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm"
package=$out/map-toolkit_${version}_$architecture.deb
SOURCE_DATE_EPOCH=$stamp dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
echo "$package ($(($(stat -c %s "$package") / 1000000)) MB): apt-get install $package"
