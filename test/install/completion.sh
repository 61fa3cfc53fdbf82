#!/usr/bin/env bash
# Checks the installed bash completion: completion.sh PREFIX
set -euo pipefail

prefix=$1
PATH=$prefix/bin:$PATH
# shellcheck disable=SC1091
source "$prefix/share/bash-completion/completions/s3lect"
[[ $(complete -p s3lect) == *'-F _s3lect'* ]] || { echo "not bound to s3lect" >&2; exit 1; }

fail() {
  echo "failed: $*" >&2
  exit 1
}

# What is offered for the last of these words; bash gives = as a word of its own.
offered() { # WORD...
  COMP_WORDS=(s3lect "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  # What it returns means nothing to bash; compopt fails outside of a completion.
  _s3lect s3lect "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null || true
}
offers() { # WHAT WORD...
  offered "${@:2}"
  [[ " ${COMPREPLY[*]} " == *" $1 "* ]] || fail "'s3lect ${*:2}' offers '${COMPREPLY[*]}', not $1"
}
withholds() { # WHAT WORD...
  offered "${@:2}"
  [[ " ${COMPREPLY[*]} " != *" $1 "* ]] || fail "'s3lect ${*:2}' offers $1"
}

# Every command, and every option that its help names.
count=0
for command in $(s3lect --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  offers "$command" ''
  offers "$command" "${command:0:2}"
  offers "$command" help "${command:0:2}"
  for option in $(s3lect "$command" --help | sed -n 's/^  \(--[a-z-]*\)\( .*\)*$/\1/p'); do
    offers "$option" "$command" --
    offers "$option" "$command" "$option"
    withholds "$option" "$command" "$option" x --
    count=$((count + 1))
  done
done
[ "$count" -gt 20 ] || fail "the help names $count options only"
offers --version --v
withholds --quick run --
withholds --queue nonsense --

# Values, by the name that the help gives them.
file=$(mktemp "${TMPDIR:-/tmp}/s3lect-completion.XXXXXX")
trap 'rm -f "$file"' EXIT
offers 15s run --leader-timeout ''
offers 15s run --leader-timeout = 1
offers 15s run --leader-timeout =
offers "$file" run --ca-file "${file%??}"
offers s3:// status --store ''
offers file:/// status --store f
offers "//$file" status --store file : "//${file%??}"
offers epochs run --store x --protocol ''
offers store-clock elect --expiry st
offers https:// status --endpoint ht
withholds --json status --region "" # a name, of which nothing is known
offers --json status --path-style --

# Behind -- anything that can be run, then files.
offers -- run --store x -
offers bash run --store x -- ba
offers "$file" run --store x -- cat "${file%??}"
withholds --store run --store x -- cat --

# In a terminal: the user presses the tabulator key.
if command -v script >/dev/null; then
  typed=$(printf 's3lect run --kill-aft\t1s --help\nexit\n' |
    TERM=dumb script -q -e -c "bash --noprofile --rcfile $prefix/share/bash-completion/completions/s3lect -i" /dev/null 2>&1)
  grep -q 'Usage: s3lect run' <<<"$typed" || fail "at a terminal: $typed"
fi
echo "$count options"
