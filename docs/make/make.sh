#!/usr/bin/env bash
# The pages that are made from the code:
#   docs/api.md, docs/s3lect.3    from the public headers
#   docs/s3lect.1                 its synopsis and options, from the command's --help
#
#   docs/make/make.sh write PROGRAM   writes them anew; PROGRAM is the s3lect command, as built
#   docs/make/make.sh check PROGRAM   fails, with the difference, if that would change them
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=${1:-} program=${2:-}
if { [ "$mode" != write ] && [ "$mode" != check ]; } || [ ! -x "$program" ]; then
  echo "usage: docs/make/make.sh write|check PROGRAM (the s3lect command, as built)" >&2
  exit 2
fi
program=$(realpath "$program")
if ! command -v perl >/dev/null; then
  echo "skipped: no perl here"
  exit 77
fi

fresh=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-docs.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
headers=(include/s3lect.h)
# The order in which one reads them; a new header follows by name.
for name in elector errno store credentials record verify; do
  headers+=("include/s3lect/$name.h")
done
for header in include/s3lect/*.h; do
  [[ " ${headers[*]} " == *" $header "* ]] || headers+=("$header")
done
perl docs/make/headers.pl api "${headers[@]}" >"$fresh/api.md"
perl docs/make/headers.pl man "${headers[@]}" >"$fresh/s3lect.3"
perl docs/make/commands.pl "$program" docs/s3lect.1 >"$fresh/s3lect.1"

stale=()
for page in api.md s3lect.3 s3lect.1; do
  if [ "$mode" = write ]; then
    cmp -s "$fresh/$page" "docs/$page" || cp "$fresh/$page" "docs/$page"
  elif ! diff -u "docs/$page" "$fresh/$page"; then
    stale+=("docs/$page")
  fi
done
if [ ${#stale[@]} -gt 0 ]; then
  echo
  echo "${stale[*]}: not what the headers and --help say now (lines with + are)." >&2
  echo "Write them anew with: docs/make/make.sh write $program" >&2
  exit 1
fi
