#!/usr/bin/env bash
# docs/pictures/architecture.svg shows the layers that lint-layers checks: picture.sh ROOT
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$1"
command -v perl >/dev/null || { echo "skipped: no perl here"; exit 77; }
perl docs/make/architecture.pl test/lint/layers.cmake | diff docs/pictures/architecture.svg - || {
  echo "draw it again: perl docs/make/architecture.pl test/lint/layers.cmake >docs/pictures/architecture.svg"
  exit 1
}
