#!/usr/bin/env bash
# Prints the blocks of code of a page that a test runs: blocks.sh PAGE TEST [PART]
#
# They have the comment <!-- by TEST --> or <!-- by TEST PART --> right before them; page.sh describes
# comments. A test that does things between them gives its blocks parts. No such block is an error.
set -euo pipefail

page=$1 wanted="by $2${3:+ $3}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-blocks.XXXXXX")
trap 'rm -rf "$dir"' EXIT
awk -v dir="$dir" -f "$(dirname "$0")/blocks.awk" "$page" >"$dir/steps"
count=0
while read -r _ _ n comment; do
  [ "$comment" = "$wanted" ] || continue
  cat "$dir/$n"
  count=$((count + 1))
done <"$dir/steps"
[ "$count" -gt 0 ] || { echo "$page has no block with <!-- $wanted -->" >&2; exit 1; }
