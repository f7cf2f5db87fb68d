#!/bin/bash
# Prints the completions of a command for a shell:
#
#   completions.sh BINARY bash|zsh|fish
#
# They are the argument parser's, with what it leaves out: values behind --option=, and the subcommands of help.
# `tileserve replay` is no subcommand to that parser, so that tileserve takes any path; its completions follow those of
# tileserve, which hand over to them behind the word replay.
set -euo pipefail
binary=$1
shell=$2
name=$(basename "$binary")
generate() { "$@" --generate-completion-script "$shell"; }
if [ "$name" = tileserve ]; then
  # The parser gives a command without subcommands one for help, which zsh refuses behind arguments of any number.
  serve() { generate "$@" | sed -e "/'(-): :->command'/d" -e "/'(-)\*:: :->arg'/d"; }
  script=$(serve "$binary")
  replay=$(serve "$binary" replay | sed 's/tileserve replay/tileserve_replay/g')
  about=$("$binary" replay --experimental-dump-help |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["command"]["abstract"].rstrip("."))')
else
  script=$(generate "$binary")
fi
# insert LINE TEXT: the script with text behind the line that begins a function.
insert() {
  local before=${script%%"$1"*}
  [ "$before" != "$script" ] || {
    echo "completions.sh: the completions for $shell have no line $1" >&2
    exit 70
  }
  printf '%s%s\n%s%s\n' "$before" "$1" "$2" "${script#"$before$1"}"
}
# Bash's completions have them in one line.
subcommands=$("$binary" --generate-completion-script bash |
  sed -n "/^_$name() {/,/^}/s/.*(compgen -W '\(.*\) help' -- .*/\1/p")
case "$shell" in
  bash)
    if [ "$name" = tileserve ]; then
      script=$(insert '_tileserve() {' '    if [[ "${COMP_CWORD}" -gt 1 && "${COMP_WORDS[1]}" = replay ]]; then
        COMP_WORDS=(tileserve_replay "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _tileserve_replay "${@}"
        return
    fi
    if [[ "${COMP_CWORD}" -eq 1 && replay = "${2}"* ]]; then COMPREPLY+=(replay); fi')
    fi
    script=$(insert "_$name() {" "    __${name}_join_words"'
    set -- "${1}" "${2#=}" "${COMP_WORDS[COMP_CWORD - 1]}"')
    if [ -n "$subcommands" ]; then
      help="_${name}_help() {"
      script=$(insert "$help" "    COMPREPLY+=(\$(compgen -W '$subcommands' -- \"\${cur}\"))")
    fi
    printf '%s\n\n%s' "$script" \
      "# Readline ends words at = and :. Here they are parts of words, but --option=value is two.
__${name}_join_words() {"
    cat <<'BASH'

    local -a joined=()
    local -i last=-1
    local rest="${COMP_LINE}" gap word
    for word in "${COMP_WORDS[@]::COMP_CWORD + 1}"; do
        gap="${rest%%[![:space:]]*}"
        rest="${rest#"${gap}"}"
        rest="${rest#"${word}"}"
        if [[ "${last}" -gt 0 && -z "${gap}" && ("${word}" = [=:]* || "${joined[last]}" = *[=:]) ]]; then
            joined[last]+="${word}"
        else
            last+=1
            joined[last]="${word}"
        fi
    done
    COMP_WORDS=()
    for word in "${joined[@]}"; do
        if [[ "${word}" = --*=* ]]; then
            COMP_WORDS+=("${word%%=*}" "${word#*=}")
        else
            COMP_WORDS+=("${word}")
        fi
    done
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}
BASH
    [ "$name" != tileserve ] || printf '\n%s\n' "$replay" | grep -v '^complete '
    ;;
  zsh)
    if [ "$name" = tileserve ]; then
      # Before the last lines of tileserve, which complete at once when the file is loaded.
      script=$(insert '_tileserve() {' '    if [[ "${CURRENT}" -gt 2 && "${words[2]}" = replay ]]; then
        shift words
        (( CURRENT -= 1 ))
        _tileserve_replay "${@}"
        return
    fi
    [[ "${CURRENT}" -eq 2 ]] && _describe command "(replay:'"'$about'"')"')
      functions=$(printf '%s\n' "$replay" | sed -e '/^#compdef/d' -e '/^if \[\[ "${funcstack/,$d')
      script=$(insert '#compdef tileserve' "$functions")
    fi
    # --option=[...] takes its value behind = and as the next word.
    printf '%s\n' "$script" | sed -E \
      -e "s/^( +'\*?--[a-z0-9-]+)(\[([^]\\]|\\\\.)*\]:)/\1=\2/" \
      -e "s/^( +'(\([^)]*\)|\*)'\{[^}]*--[a-z0-9-]+)(\}'\[([^]\\]|\\\\.)*\]:)/\1=\3/" \
      -e "/^_${name}_help\(\) \{/,/^}/s/'\*:subcommands:'/'1:subcommand:($subcommands)'/"
    ;;
  fish)
    if [ "$name" = tileserve ]; then
      script=$(insert 'function __tileserve_parse_tokens -S' '    set -l words (__tileserve_tokens -pc)
    test "$words[2]" = replay; and return')
    fi
    printf '%s\n' "$script"
    if [ "$name" = tileserve ]; then
      printf '\n%s\n' "$replay" | sed \
        -e "s/^complete -c 'tileserve_replay'/complete -c 'tileserve'/" \
        -e "s/^    set -l unparsed_tokens .*/&\n    test \"\$unparsed_tokens[2]\" = replay; or return\n\
    set unparsed_tokens tileserve_replay \$unparsed_tokens[3..]/"
      printf "complete -c tileserve -n 'test (count (__tileserve_tokens -pc)) -eq 1' -fa replay -d '%s'\n" "$about"
    else
      condition="__${name}_should_offer_completions_for_positional \"$name help\" -eq 1"
      printf "complete -c '%s' -n '%s' -fa '%s'\n" "$name" "$condition" "$subcommands"
    fi
    ;;
esac
