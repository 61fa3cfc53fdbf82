#!/usr/bin/env bash
# Checks .github, above all its workflows: workflows.sh scripts | actionlint | selftest
#   scripts     the scripts that they run exist, and know the options that they get (workflows.pl)
#   actionlint  GitHub would understand them
#   selftest    shows that both can fail
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-workflows.XXXXXX")
trap 'rm -rf "$dir"' EXIT

scripts() { # ROOT
  perl test/lint/workflows.pl "$1"
}

actionlint() { # ROOT
  (cd "$1" && "$checker/actionlint" -no-color -shellcheck= -pyflakes= .github/workflows/*.yml)
}

need_perl() {
  perl -MCPAN::Meta::YAML -MJSON::PP -e 1 2>/dev/null || { echo "skipped: no perl with its modules here"; exit 77; }
}

need_actionlint() {
  local status=0
  checker=$(deps/install-checkers.sh actionlint 2>"$dir/log") || status=$?
  [ "$status" -ne 77 ] || echo "skipped: $(tail -n 1 "$dir/log")"
  [ "$status" -eq 0 ] || { cat "$dir/log" >&2; exit "$status"; }
}

# A copy with one change, which the check must refuse with this message.
refused() { # CHECK SAYING FILE SED
  rm -rf "$dir/copy"
  mkdir "$dir/copy"
  cp -r --parents .github CMakePresets.json test/run.sh deps/*.sh packaging "$dir/copy"
  sed -i -E -e "$4" "$dir/copy/$3"
  ! cmp -s "$3" "$dir/copy/$3" || { echo "changes nothing in $3: $4"; exit 1; }
  ! "$1" "$dir/copy" >"$dir/out" 2>&1 || { echo "not noticed: $3: $4"; exit 1; }
  grep -q -F -e "$2" "$dir/out" || { echo "noticed, but not told: $4"; cat "$dir/out"; exit 1; }
}

case "${1:-}" in
  scripts) need_perl; scripts . ;;
  actionlint) need_actionlint; actionlint . && echo "well" ;;
  selftest)
    need_perl
    w=.github/workflows
    refused scripts 'there is no test/runs.sh' $w/tests.yml 's/test\/run\.sh/test\/runs.sh/'
    refused scripts 'does not have --one' $w/tests.yml 's/--only/--one/'
    refused scripts 'does not have gcc' $w/tests.yml 's/- clang/- gcc/'
    refused scripts 'does not have chek' $w/release.yml 's/release.sh check/release.sh chek/'
    refused scripts 'is not pinned' $w/release.yml 's/@11bd.*/@v4/'
    refused scripts 'no timeout-minutes' $w/weekly.yml '/timeout-minutes/d'
    refused scripts 'permissions must be' $w/weekly.yml 's/contents: read/contents: write/'
    refused scripts 'there is no ./.github/workflows/test.yml' $w/release.yml 's/tests\.yml/test.yml/'
    refused scripts 'does not build more' CMakePresets.json 's/("name": )"fuzz"/\1"more"/'
    t=.github/ISSUE_TEMPLATE/store.yml
    refused scripts 'has no body' $t 's/^body:/bodies:/'
    refused scripts "what is a 'text'" $t 's/type: input/type: text/'
    refused scripts "the ID 'store' is bad" $t 's/id: version/id: store/'
    need_actionlint
    refused actionlint 'unexpected key' $w/tests.yml 's/runs-on:/run-on:/'
    refused actionlint 'matrix' $w/tests.yml 's/matrix\.build/matrix.builds/'
    echo "fourteen faults are noticed"
    ;;
  *) echo "usage: ${0##*/} scripts|actionlint|selftest" >&2; exit 2 ;;
esac
