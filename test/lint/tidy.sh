#!/usr/bin/env bash
# clang-tidy finds nothing in src and include, by .clang-tidy: tidy.sh BUILD_DIR CLANG_TIDY
# Exit 77: skipped, with the reason printed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

command -v "$2" >/dev/null || { echo "skipped: no $2 here"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-tidy.XXXXXX")
trap 'rm -rf "$dir"' EXIT
# Options of gcc's that clang does not know would be errors.
sed 's/ -f\(ipa-pta\|lto-partition=one\|no-fat-lto-objects\)//g' "$1/compile_commands.json" >"$dir/compile_commands.json"
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$dir/compile_commands.json" | grep "^$root/src/" | sort -u)
[ ${#files[@]} -gt 0 ] || { echo "no sources in $1/compile_commands.json"; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -n 8 -P "$(nproc)" "$2" --quiet -p "$dir" 2>"$dir/log" ||
  { grep -v 'warnings generated\|^Suppressed\|^Use -header-filter' "$dir/log"; exit 1; }
echo "${#files[@]} sources are well"
