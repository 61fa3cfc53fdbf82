#!/usr/bin/env bash
# Checks that docs/pictures/architecture.svg shows the layers of lint-layers: picture.sh ROOT
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$1"
command -v perl >/dev/null || { echo "skipped: no perl here"; exit 77; }
perl docs/make/architecture.pl test/lint/layers.cmake | diff docs/pictures/architecture.svg - || {
  echo "draw it again: perl docs/make/architecture.pl test/lint/layers.cmake >docs/pictures/architecture.svg"
  exit 1
}
