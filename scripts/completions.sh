#!/bin/bash
# Prints the completions of a command for a shell:
#
#   completions.sh BINARY bash|zsh|fish
#
# They are the argument parser's. `tileserve replay` is no subcommand to that parser, so that tileserve takes any path;
# its completions follow those of tileserve, which hand over to them behind the word replay.
set -euo pipefail
binary=$1
shell=$2
if [ "$(basename "$binary")" != tileserve ]; then
  exec "$binary" --generate-completion-script "$shell"
fi
about="replay recorded map sessions, and count the tiles that were missing on the screen"
# The parser gives a command without subcommands one for help, which zsh refuses behind arguments of any number.
generate() { "$@" --generate-completion-script "$shell" | sed -e "/'(-): :->command'/d" -e "/'(-)\*:: :->arg'/d"; }
serve=$(generate "$binary")
replay=$(generate "$binary" replay | sed 's/tileserve replay/tileserve_replay/g')
# insert LINE TEXT: the completions of tileserve with text behind the line that begins a function.
insert() {
  local before=${serve%%"$1"*}
  [ "$before" != "$serve" ] || {
    echo "completions.sh: the completions for $shell have no line $1" >&2
    exit 70
  }
  printf '%s%s\n%s%s\n' "$before" "$1" "$2" "${serve#"$before$1"}"
}
case "$shell" in
  bash)
    insert '_tileserve() {' '    if [[ "${COMP_CWORD}" -gt 1 && "${COMP_WORDS[1]}" = replay ]]; then
        COMP_WORDS=(tileserve_replay "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _tileserve_replay "${@}"
        return
    fi
    if [[ "${COMP_CWORD}" -eq 1 && -n "${2}" && replay = "${2}"* ]]; then COMPREPLY+=(replay); fi'
    printf '\n%s\n' "$replay" | grep -v '^complete '
    ;;
  zsh)
    # Before the last lines of tileserve, which complete at once when the file is loaded.
    serve=$(insert '_tileserve() {' '    if [[ "${CURRENT}" -gt 2 && "${words[2]}" = replay ]]; then
        shift words
        (( CURRENT -= 1 ))
        _tileserve_replay "${@}"
        return
    fi
    [[ "${CURRENT}" -eq 2 ]] && _describe command "(replay:'"'$about'"')"')
    functions=$(printf '%s\n' "$replay" | sed -e '/^#compdef/d' -e '/^if \[\[ "${funcstack/,$d')
    serve=$(insert '#compdef tileserve' "$functions")
    printf '%s\n' "$serve"
    ;;
  fish)
    insert 'function __tileserve_parse_tokens -S' '    set -l words (__tileserve_tokens -pc)
    test "$words[2]" = replay; and return'
    printf '\n%s\n' "$replay" | sed \
      -e "s/^complete -c 'tileserve_replay'/complete -c 'tileserve'/" \
      -e "s/^    set -l unparsed_tokens .*/&\n    test \"\$unparsed_tokens[2]\" = replay; or return\n    set unparsed_tokens tileserve_replay \$unparsed_tokens[3..]/"
    printf "complete -c tileserve -n 'test (count (__tileserve_tokens -pc)) -eq 1' -fa replay -d '%s'\n" "$about"
    ;;
esac
