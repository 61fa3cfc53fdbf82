#!/usr/bin/env bash
# Checks that the generated pages contain all of their sources: made.sh SOURCE PAGES PROGRAM
# Exit 77: skipped, with the reason printed.
set -euo pipefail

source=$1 pages=$2 program=$3
if [ -z "$pages" ]; then
  echo "skipped: no perl here"
  exit 77
fi

missing=0 checked=0
check() { # PAGE TEXT
  checked=$((checked + 1))
  grep -q -F -e "$2" "$pages/$1" && return
  echo "$1 does not have: $2"
  missing=$((missing + 1))
}

for function in $(grep -o '^s3lect_[a-z0-9_]*' "$source/src/s3lect.symbols"); do
  check api.md "$function("
  check s3lect.3 "$function("
done
for command in $("$program" --help | awk '/^$|:$/ { on = $0 == "Commands:" } on && /^  [a-z]/ { print $1 }'); do
  check s3lect.1 ".Ss s3lect $command"
  for option in $("$program" "$command" --help | grep -o '^  --[a-z0-9-]*' | sed 's/^  -//; s/-/\\-/g; s/^\\-/-/'); do
    check s3lect.1 ".It Fl $option"
  done
done
[ "$checked" -ge 150 ] || { echo "only $checked names found"; exit 1; }
[ "$missing" = 0 ] || exit 1
echo "$checked names"
