#!/bin/bash
# Installs the built commands with manual pages, completions and licences, or removes them:
#
#   install.sh PREFIX             into $DESTDIR$PREFIX; BINARIES names the folder with the built commands
#   install.sh --remove PREFIX    what the list in PREFIX/share/map-toolkit names
#
# The list of installed files is PREFIX/share/map-toolkit/installed.
set -euo pipefail
cd "$(dirname "$0")/.."
commands="tilecut tileserve purchase-ledger mapstore"
if [ "${1:-}" = --remove ]; then
  prefix=${2:?install.sh --remove PREFIX}
  list=${DESTDIR:-}$prefix/share/map-toolkit/installed
  [ -r "$list" ] || {
    echo "nothing is installed below $prefix: there is no $list" >&2
    exit 1
  }
  # Files first, then the toolkit's own folders, the innermost first. Those of all programs, such as bin, stay.
  while IFS= read -r name; do rm -f "${DESTDIR:-}$prefix/$name"; done <"$list"
  rm -f "$list"
  for folder in share/map-toolkit/systemd share/map-toolkit share/doc/map-toolkit; do
    rmdir "${DESTDIR:-}$prefix/$folder" 2>/dev/null || true
  done
  echo "removed from $prefix"
  exit 0
fi
prefix=${1:?install.sh PREFIX}
binaries=${BINARIES:-.build/release}
root=${DESTDIR:-}$prefix
for command in $commands; do
  [ -x "$binaries/$command" ] || {
    echo "$binaries/$command is missing: run make build first" >&2
    exit 1
  }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
put() { # put MODE FILE NAME
  install -D -m "$1" "$2" "$root/$3"
  echo "$3" >>"$work/installed"
}
for command in $commands; do
  strip -o "$work/$command" "$binaries/$command"
  put 755 "$work/$command" "bin/$command"
  for shell in bash zsh fish; do scripts/completions.sh "$binaries/$command" "$shell" >"$work/$shell"; done
  put 644 "$work/bash" "share/bash-completion/completions/$command"
  put 644 "$work/zsh" "share/zsh/site-functions/_$command"
  put 644 "$work/fish" "share/fish/vendor_completions.d/$command.fish"
  python3 scripts/man-pages.py "$work/man" "$binaries/$command"
done
# Not a subcommand of the argument parser, so that tileserve takes any path.
python3 scripts/man-pages.py "$work/man" "$binaries/tileserve replay"
gzip -9n "$work"/man/*.1
for page in "$work"/man/*; do put 644 "$page" "share/man/man1/$(basename "$page")"; done

# Licences: ours, and those of the packages and of Swift's libraries that the binaries contain.
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
install -D -m 644 "$work/installed" "$root/share/map-toolkit/installed"
echo "installed in $prefix: $(for c in $commands; do printf '%s (%s MB) ' "$c" "$(($(stat -c %s "$work/$c") / 1000000))"; done)"
