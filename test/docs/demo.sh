#!/usr/bin/env bash
# Checks that README.md shows what examples/demo.sh prints: demo.sh ROOT BUILD
#
# README.md names the demo in a comment right before the block with its output. Numbers (times, epochs,
# ports, names of nodes) differ from run to run and are not compared, nor are errors that a busy
# machine adds.
set -euo pipefail
cd "$1"

shown=$(awk '/^<!-- output of examples\/demo.sh -->$/ { next_block = 1 }
  /^```/ { if (inside) exit; inside = next_block; next }
  inside' README.md)
[ -n "$shown" ] || { echo "README.md has no block <!-- output of examples/demo.sh -->" >&2; exit 1; }

without_numbers() {
  sed -E -e '/ error [A-Z]+: /d' -e 's/[0-9]+(\.[0-9]+)?/N/g' -e 's/N m?s ago/N s ago/' -e 's/ +/ /g' -e '/^ ?$/d'
}
printed=$(PATH=$2/src:$2/test/fakes3:$PATH examples/demo.sh --installed)
diff <(without_numbers <<<"$shown") <(without_numbers <<<"$printed") || {
  echo "README.md (<) does not show what examples/demo.sh prints (>), which was:" >&2
  echo "$printed" >&2
  exit 1
}
echo "$(wc -l <<<"$printed") lines of examples/demo.sh"
