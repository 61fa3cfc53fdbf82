#!/usr/bin/env bash
# Compiles every source of a build by gcc with clang as well for its warnings, and keeps no result:
#   clang.sh BUILD_DIR CLANG    CLANG: clang, clang-15, ...
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$1"
command -v "$2" >/dev/null || { echo "skipped: no $2 here"; exit 77; }

# One command line a source: not those of dependencies (-w), and each source only once; without the
# option of packaging/small.cmake that clang does not have.
mapfile -t commands < <(
  sed -n 's/^ *"command": "\(.*\)",$/\1/p' compile_commands.json |
    sed -E 's/\\(["\\])/\1/g; s/^([^- ][^ ]* )+/'"$2"' -fsyntax-only /
      s/ -o [^ ]+ / /; s/ -fipa-pta / /; / -w /d' |
    awk '!seen[$NF]++'
)
[ ${#commands[@]} -gt 0 ] || { echo "no command lines in $PWD/compile_commands.json"; exit 1; }
printf '%s\0' "${commands[@]}" | xargs -0 -n 1 bash -c || exit 1
echo "${#commands[@]} sources are well"
