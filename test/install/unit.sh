#!/usr/bin/env bash
# Checks the installed unit template: unit.sh PREFIX
# systemd itself reads the template. The command parses the expanded ExecStart=, with the
# configuration of docs/cookbook.md. Exit 77: skipped, with the reason printed.
set -euo pipefail

prefix=$1
unit=$prefix/lib/systemd/system/s3lect-run@.service
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-unit.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The cookbook's configuration, with the variables that the unit tells of.
page=$(dirname "$0")/../../docs/cookbook.md
sed -n '/^```ini$/,/^```$/{/^```/!p}' "$page" >"$dir/conf"
for name in S3LECT_STORE S3LECT_OPTIONS S3LECT_COMMAND; do
  grep -q "^#   $name=" "$unit" || { echo "the unit does not explain $name" >&2; exit 1; }
  grep -q "^$name=" "$dir/conf" || { echo "docs/cookbook.md does not set $name" >&2; exit 1; }
done
while IFS='=' read -r name value; do
  grep -q "^ExecStart=.*\$[{]*$name" "$unit" || [[ $name == AWS_* ]] ||
    { echo "docs/cookbook.md sets $name, which the unit does not take" >&2; exit 1; }
  export "$name=$value"
done <"$dir/conf"

# The shell takes its words apart as systemd does: ${X} is one word, $X any number.
line=$(sed -n 's/^ExecStart=//p' "$unit")
eval "set -- ${line/'${S3LECT_STORE}'/'"$S3LECT_STORE"'}"
[ "$*" = "$prefix/bin/s3lect run --store $S3LECT_STORE $S3LECT_OPTIONS -- $S3LECT_COMMAND" ] ||
  { echo "it runs $*" >&2; exit 1; }
# Its options are known to the command: only then --help, put before --, is answered.
before=()
for word; do
  [ "$word" != -- ] || break
  before+=("$word")
done
help=$("${before[@]}" --help)
[[ $help == 'Usage: s3lect run'* ]] || { echo "an option is unknown" >&2; exit 1; }

command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze here"; exit 77; }
cp "$unit" "$dir/s3lect-run@try.service"
if ! SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$dir/s3lect-run@try.service" >"$dir/log" 2>&1 ||
  grep -q 's3lect-run@' "$dir/log"; then
  if grep -q -E 'Failed to (initialize manager|create .*manager|connect)' "$dir/log"; then
    echo "skipped: systemd-analyze does not work here: $(head -n 1 "$dir/log")"
    exit 77
  fi
  cat "$dir/log"
  exit 1
fi
echo "systemd understands it"
