#!/usr/bin/env bash
# Keeps layout.inc, which test-layout.c includes: a line for each public struct, field and number.
#   layout.sh check CC [INCLUDE-DIR...]   fails if one of them has no line there
#   layout.sh write CC [INCLUDE-DIR...]   adds the lines that are missing; changes none
# A release makes it for the first time.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=$1 cc=$2
shift 2
[ "$(getconf LONG_BIT)" = 64 ] || { echo "skipped: pinned for 64-bit systems only"; exit 77; }
command -v perl >/dev/null || { echo "skipped: no perl here"; exit 77; }
inc=test/abi/layout.inc
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-layout.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# A program that prints all lines as they are now.
perl docs/make/headers.pl list include/s3lect.h include/s3lect/*.h >"$dir/list"
{
  echo '#include <s3lect.h>'
  echo '#include <stdio.h>'
  echo 'int main(void) {'
  while read -r what name field; do
    case $what in
      struct)
        macro=SIZE
        if grep -q -x "field $name size" "$dir/list"; then macro=GROWS; fi
        echo "  printf(\"$macro($name, %zu)\\n\", sizeof($name));"
        ;;
      value) echo "  printf(\"VALUE($name, %lld)\\n\", (long long)$name);" ;;
      field) echo "  printf(\"AT($name, $field, %zu)\\n\", offsetof($name, $field));" ;;
    esac
  done <"$dir/list"
  echo '  return 0;'
  echo '}'
} >"$dir/print.c"
"$cc" -D_GNU_SOURCE -Iinclude "${@/#/-I}" "$dir/print.c" -o "$dir/print"
"$dir/print" >"$dir/now"

# Each line of today, or in its place what layout.inc says of the same struct or field; then what
# layout.inc knows and the headers do not: the compiler will say that it is gone.
touch "$inc"
awk -F, 'function key(line) { sub(/, -?[0-9]+\)$/, "", line); sub(/^(SIZE|GROWS)/, "SIZE", line); return line }
  FNR == NR { if ($0 ~ /^[A-Z]+\(/) { pinned[key($0)] = $0; order[++n] = key($0) } next }
  { k = key($0); print (k in pinned) ? pinned[k] : $0; delete pinned[k] }
  END { for (i = 1; i <= n; i++) if (order[i] in pinned) print pinned[order[i]] }' "$inc" "$dir/now" >"$dir/merged"

if [ "$mode" = write ]; then
  cp "$dir/merged" "$inc"
elif ! diff <(grep -E '^[A-Z]+\(' "$inc" | sort) <(sort "$dir/merged") >"$dir/diff"; then
  grep '^>' "$dir/diff"
  echo "public, but not pinned yet: test/abi/layout.sh write $cc $*" >&2
  exit 1
fi
echo "$(wc -l <"$dir/merged") lines"
