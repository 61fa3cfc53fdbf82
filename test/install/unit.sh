#!/usr/bin/env bash
# The unit template, as it is installed: unit.sh PREFIX
# systemd itself reads it; what its ExecStart= becomes is run here by hand, with a store that does
# not exist: as far as s3lect is concerned all is well then. Exit 77: skipped, with the reason.
set -euo pipefail

prefix=$1
unit=$prefix/lib/systemd/system/s3lect-run@.service
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-unit.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The variables that it takes are those that it tells of.
for name in S3LECT_STORE S3LECT_OPTIONS S3LECT_COMMAND; do
  grep -q "^#   $name=" "$unit" || { echo "the unit does not explain $name" >&2; exit 1; }
done
line=$(sed -n 's/^ExecStart=//p' "$unit")
S3LECT_STORE=s3://no-such-bucket/key S3LECT_OPTIONS='--leader-timeout 15s --endpoint http://127.0.0.1:9'
S3LECT_COMMAND='/bin/true --queue jobs'
export S3LECT_STORE S3LECT_OPTIONS S3LECT_COMMAND
# The shell takes these words apart as systemd does.
eval "set -- ${line/'${S3LECT_STORE}'/'"$S3LECT_STORE"'}"
[ "$1" = "$prefix/bin/s3lect" ] || { echo "it runs $1" >&2; exit 1; }
[ "$*" = "$prefix/bin/s3lect run --store s3://no-such-bucket/key --leader-timeout 15s \
--endpoint http://127.0.0.1:9 -- /bin/true --queue jobs" ] || { echo "it runs $*" >&2; exit 1; }
# Its options are known to the command: only then --help, put before --, is answered.
before=()
for word; do
  [ "$word" != -- ] || break
  before+=("$word")
done
"${before[@]}" --help | grep -q '^Usage: s3lect run' || { echo "an option is unknown" >&2; exit 1; }

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
