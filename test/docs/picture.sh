#!/usr/bin/env bash
# Checks that the pictures of docs/make are up to date: picture.sh ROOT
#
# architecture.svg shows the layers of lint-layers, overview.svg the default intervals of an elector.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$1"
command -v perl >/dev/null || { echo "skipped: no perl here"; exit 77; }
check() { # NAME SOURCE
  perl "docs/make/$1.pl" "$2" | diff "docs/pictures/$1.svg" - || {
    echo "draw it again: perl docs/make/$1.pl $2 >docs/pictures/$1.svg"
    exit 1
  }
}
check architecture test/lint/layers.cmake
check overview src/elector/options.c
