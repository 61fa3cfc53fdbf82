#!/usr/bin/env bash
# Style of what git tracks: sources.sh format | shell | cppcheck
#   format    every .c and .h is as clang-format (with the repository's .clang-format) would have it
#   shell     every shell script parses and is executable
#   cppcheck  finds no error in the C sources of what is installed and of the examples
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $*"
  exit 77
}
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "not a git work tree"

case "${1:-}" in
  format)
    command -v clang-format >/dev/null || skip "no clang-format here"
    mapfile -t files < <(git ls-files '*.c' '*.h')
    clang-format --dry-run -Werror "${files[@]}"
    ;;
  shell)
    mapfile -t files < <(git ls-files '*.sh' .ci/run)
    for file in "${files[@]}"; do
      bash -n "$file"
      [ -x "$file" ] || { echo "$file has no run bit"; exit 1; }
    done
    ;;
  cppcheck)
    command -v cppcheck >/dev/null || skip "no cppcheck here"
    mapfile -t files < <(git ls-files 'src/*.c' 'examples/*.c' 'packaging/*.c')
    cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
      -D_GNU_SOURCE -D__linux__ -Iinclude -Isrc "${files[@]}"
    ;;
  *)
    echo "usage: ${0##*/} format|shell|cppcheck" >&2
    exit 2
    ;;
esac
echo "${#files[@]} files are well"
