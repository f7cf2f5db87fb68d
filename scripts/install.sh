#!/bin/bash
# Installs the built commands with manual pages, completions, documents and licences, or removes them; usage below.
set -euo pipefail
usage="usage: install.sh PREFIX            installs into \$DESTDIR\$PREFIX
       install.sh --remove PREFIX   removes what the list in PREFIX/share/map-toolkit/installed names
The variable BINARIES names the folder of the built commands, .build/release unless given."
wrong() {
  printf 'install.sh: %s\n%s\n' "$1" "$usage" >&2
  exit 64
}
caller=$PWD
cd "$(dirname "$0")/.."
commands="tilecut tileserve purchase-ledger mapstore"
remove=""
case "${1:-}" in
  -h | --help)
    echo "$usage"
    exit 0
    ;;
  --remove)
    remove=1
    shift
    ;;
esac
[ $# -gt 0 ] && [ -n "$1" ] || wrong "PREFIX is missing"
[ $# = 1 ] || wrong "one PREFIX is expected, not $# arguments"
case "$1" in
  -*) wrong "there is no option $1" ;;
  /*) prefix=$1 ;;
  *) prefix=$caller/$1 ;;
esac
root=${DESTDIR:-}$prefix
list=$root/share/map-toolkit/installed

# remove_listed LIST: the files that a list names, then its folders (with a slash at the end) that are empty, the
# innermost first.
remove_listed() {
  local name
  while IFS= read -r name; do
    case "$name" in */) ;; *) rm -f "$root/$name" ;; esac
  done <"$1"
  while IFS= read -r name; do
    case "$name" in */) rmdir "$root/$name" 2>/dev/null || true ;; esac
  done < <(sort -r "$1")
}

if [ -n "$remove" ]; then
  [ -r "$list" ] || {
    echo "nothing is installed below $prefix: there is no $list" >&2
    exit 1
  }
  names=$(mktemp)
  trap 'rm -f "$names"' EXIT
  cat "$list" - >"$names" <<<share/map-toolkit/installed
  remove_listed "$names"
  echo "removed from $prefix"
  exit 0
fi

binaries=${BINARIES:-.build/release}
for command in $commands; do
  [ -x "$binaries/$command" ] || {
    echo "$binaries/$command is missing: run make build first" >&2
    exit 1
  }
done
folder=$root
while [ ! -e "$folder" ]; do folder=$(dirname "$folder"); done
[ -d "$folder" ] && [ -w "$folder" ] || {
  echo "$folder cannot be written: run it with sudo, or choose PREFIX=\$HOME/.local" >&2
  exit 1
}

# All files are made in a folder of their own first.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
put() { # put MODE FILE NAME
  install -D -m "$1" "$2" "$work/root/$3"
  echo "$3" >>"$work/installed"
}
pages=()
for command in $commands; do
  strip -o "$work/$command" "$binaries/$command"
  put 755 "$work/$command" "bin/$command"
  for shell in bash zsh fish; do scripts/completions.sh "$binaries/$command" "$shell" >"$work/$shell"; done
  put 644 "$work/bash" "share/bash-completion/completions/$command"
  put 644 "$work/zsh" "share/zsh/site-functions/_$command"
  put 644 "$work/fish" "share/fish/vendor_completions.d/$command.fish"
  pages+=("$binaries/$command")
done
# Not a subcommand of the argument parser, so that tileserve takes any path.
pages+=("$binaries/tileserve replay")
# The pages' date: equal commits give equal pages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)} \
  python3 scripts/man-pages.py "$work/man" "${pages[@]}"
gzip -9n "$work"/man/*.1
for page in "$work"/man/*; do put 644 "$page" "share/man/man1/$(basename "$page")"; done

# What help texts, messages and manual pages refer to as docs/...
while IFS= read -r file; do put 644 "$file" "share/doc/map-toolkit/$file"; done \
  < <(find docs -path docs/history -prune -o -type f -print | sort)

# The map libraries of the servers' pages, each with its licence.
for file in leaflet/leaflet.js leaflet/leaflet.css leaflet/images/layers.png leaflet/images/layers-2x.png \
  leaflet/images/marker-icon.png leaflet/images/marker-icon-2x.png leaflet/images/marker-shadow.png leaflet/LICENCE \
  maplibre-gl/maplibre-gl.js maplibre-gl/maplibre-gl.css maplibre-gl/LICENCE; do
  if [ -r ".build/web/$file" ]; then put 644 ".build/web/$file" "share/map-toolkit/web/$file"; fi
done
[ -r .build/web/leaflet/leaflet.js ] && [ -r .build/web/maplibre-gl/maplibre-gl.js ] ||
  echo "pages will show no maps: a library is missing in .build/web; run make web-libraries first" >&2

# Licences: ours, and those of the packages and of Swift's libraries that the binaries contain.
ls -d .build/checkouts/*/ >/dev/null 2>&1 ||
  echo "THIRD-PARTY-LICENCES lacks the packages' licences: there is no .build/checkouts; run make build first" >&2
{
  echo "The commands contain these packages and Swift's standard libraries; their licences follow."
  for folder in .build/checkouts/*; do
    package=$(basename "$folder")
    # Only `make docs` uses it.
    case "$package" in swift-docc-*) continue ;; esac
    for file in "$folder"/LICENSE* "$folder"/NOTICE*; do
      [ -f "$file" ] || continue
      printf '\n================ %s: %s ================\n' "$package" "$(basename "$file")"
      cat "$file"
    done
  done
  swift=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")/share/swift/LICENSE.txt
  if [ -r "$swift" ]; then
    printf '\n================ Swift ================\n'
    cat "$swift"
  fi
} >"$work/licences"
put 644 LICENSE share/doc/map-toolkit/copyright
put 644 "$work/licences" share/doc/map-toolkit/THIRD-PARTY-LICENCES
put 644 CHANGELOG.md share/doc/map-toolkit/CHANGELOG.md

# Folders that were there are not listed, so that they stay: /usr/local/bin. Those that an earlier version made are.
find "$work/root" -mindepth 1 -type d -printf '%P/\n' >"$work/folders"
echo share/map-toolkit/ >>"$work/folders"
while IFS= read -r name; do
  [ -d "$root/$name" ] && ! grep -qxF "$name" "$list" 2>/dev/null || echo "$name" >>"$work/installed"
done <"$work/folders"

# While files are copied, the list also names those of the version before: an interrupted installation can be removed.
sort -u "$work/installed" -o "$work/installed"
touch "$work/before"
[ ! -r "$list" ] || sort -u "$list" >"$work/before"
sort -u "$work/installed" "$work/before" >"$work/both"
install -D -m 644 "$work/both" "$list"
while IFS= read -r name; do
  case "$name" in */) continue ;; esac
  install -D -m "$(stat -c %a "$work/root/$name")" "$work/root/$name" "$root/$name"
done <"$work/installed"
comm -13 "$work/installed" "$work/before" >"$work/gone"
remove_listed "$work/gone"
install -m 644 "$work/installed" "$list"
size() { echo "$(($(stat -c %s "$work/$1") / 1000000)) MB"; }
echo "installed in $prefix: $(for command in $commands; do printf '%s (%s) ' "$command" "$(size "$command")"; done)"
