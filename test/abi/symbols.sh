#!/usr/bin/env bash
# The libraries' symbols:
#   symbols.sh check SHARED STATIC     src/s3lect.symbols, the shared library's exports and the
#                                      functions of include/ are the same; each function has a doc
#                                      comment; the static library defines no name of others
#   symbols.sh selftest SHARED STATIC  shows that each of these can fail
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=$1 shared=$2 static=$3
for tool in nm perl; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-abi.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export LC_ALL=C

complain() { # ADVICE FILE-OF-NAMES
  [ -s "$2" ] || return 0
  sed 's/^/  /' "$2"
  echo "  ^ $1"
  failed=1
}

# Names in LISTED, EXPORTED, DECLARED; FUNCTIONS as headers.pl list prints them; STATIC's names.
compare() { # LISTED EXPORTED DECLARED FUNCTIONS ARCHIVED
  failed=0
  comm -23 "$2" "$1" >"$dir/names"
  complain "exported, but not in src/s3lect.symbols: add a line if it is meant to be public for ever, \
in the order of LC_ALL=C sort; else take S3LECT_EXTERN away" "$dir/names"
  comm -23 "$1" "$2" >"$dir/names"
  complain "in src/s3lect.symbols, but not exported: a program that uses it would not start any more. \
Give it back; only a new soname may drop it" "$dir/names"
  comm -23 "$3" "$2" >"$dir/names"
  complain "declared in include/, but not exported: define it in a file that sees its declaration" "$dir/names"
  comm -13 "$3" "$2" >"$dir/names"
  complain "exported, but not declared in include/: declare it there, or make it internal (s3l_*)" "$dir/names"
  grep ' bare$' "$4" >"$dir/names" || true
  complain "no doc comment: put /** ... */ right above it (what it does, parameters with their units, \
who owns what, errors by name, threads)" "$dir/names"
  grep -v -E '^(s3lect|s3l|llhttp)_' "$5" >"$dir/names" || true
  complain "global names of the static library that could clash with a user's: make them static, or \
begin them with s3l_" "$dir/names"
  return "$failed"
}

# Names that begin with an underscore belong to the compiler (sanitizers).
nm -D --defined-only "$shared" | awk '$NF !~ /^_/ { print $NF }' | sort >"$dir/exported"
nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 && $3 !~ /^_/ { print $3 }' | sort -u >"$dir/archived"
perl docs/make/headers.pl list include/s3lect.h include/s3lect/*.h | grep '^function ' >"$dir/functions"
awk '{ print $2 }' "$dir/functions" | sort >"$dir/declared"
cp src/s3lect.symbols "$dir/listed"

must_fail() { # WHAT SAYING-WHAT LISTED EXPORTED DECLARED FUNCTIONS ARCHIVED
  local what=$1 saying=$2
  shift 2
  if compare "$@" >"$dir/out"; then
    echo "not noticed: $what"
    exit 1
  fi
  grep -q -e "$saying" "$dir/out" || { echo "noticed, but not told: $what"; cat "$dir/out"; exit 1; }
}

if [ "$mode" = selftest ]; then
  L=$dir/listed E=$dir/exported D=$dir/declared F=$dir/functions A=$dir/archived
  grep -v '^s3lect_elector_epoch$' "$L" >"$dir/fewer"
  must_fail "an export more" "exported, but not in" "$dir/fewer" "$E" "$D" "$F" "$A"
  must_fail "an export less" "not exported: a program" "$L" "$dir/fewer" "$D" "$F" "$A"
  must_fail "a declaration more" "declared in include/, but" "$dir/fewer" "$dir/fewer" "$D" "$F" "$A"
  must_fail "a declaration less" "not declared in include/" "$L" "$E" "$dir/fewer" "$F" "$A"
  sed '1s/documented$/bare/' "$F" >"$dir/bare"
  must_fail "no doc comment" "no doc comment" "$L" "$E" "$D" "$dir/bare" "$A"
  { cat "$A"; echo jsmn_parse; } >"$dir/more"
  must_fail "a foreign name" "could clash" "$L" "$E" "$D" "$F" "$dir/more"
  # The reader of headers sees what is bare.
  mkdir "$dir/s3lect"
  printf '/* s3lect/x.h: x. */\n\n/* Not for the manual. */\nS3LECT_EXTERN int s3lect_x(void);\n\n%s\n%s\n' \
    '/** Does y. */' 'S3LECT_EXTERN int s3lect_y(int (*f)(void));' >"$dir/s3lect/x.h"
  perl docs/make/headers.pl list "$dir/s3lect/x.h" >"$dir/out"
  grep -q 's3lect_x .* bare$' "$dir/out" && grep -q 's3lect_y .* documented$' "$dir/out" ||
    { echo "headers.pl misreads:"; cat "$dir/out"; exit 1; }
  echo "each of them is noticed"
  exit 0
fi

sort -c src/s3lect.symbols || { echo "src/s3lect.symbols is not in the order of LC_ALL=C sort" >&2; exit 1; }
[ "$(wc -l <"$dir/exported")" -gt 0 ] || { echo "$shared exports nothing" >&2; exit 1; }
# llhttp comes along in it, unless it is the system's and the linker finds it there.
nm "$static" 2>/dev/null >"$dir/all"
grep -q -E '(T llhttp_execute|U llhttp_execute)$' "$dir/all" || { echo "$static knows no llhttp" >&2; exit 1; }
# Linked into a shared object of somebody else's (an addon, a plug-in), the static library's internal
# names stay inside: a host program may well export an llhttp of its own.
if command -v readelf >/dev/null; then
  readelf -sW "$static" 2>/dev/null |
    awk '$5 == "GLOBAL" && $6 != "HIDDEN" && $7 != "UND" && $8 !~ /^(s3lect|_)/ { print $8 }' >"$dir/names"
  [ ! -s "$dir/names" ] || { cat "$dir/names"; echo "not hidden in $static" >&2; exit 1; }
fi
compare "$dir/listed" "$dir/exported" "$dir/declared" "$dir/functions" "$dir/archived" ||
  { echo "the interface of the library has changed: see above" >&2; exit 1; }
echo "$(wc -l <"$dir/exported") symbols, all listed, declared and described"
