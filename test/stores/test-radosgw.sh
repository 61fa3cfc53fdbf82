#!/usr/bin/env bash
# Tests radosgw.sh: replies to conditional writes, the exit status of CMD, two stores at the same
# time, and that nothing is left behind, even by a run that was killed. Exit 77 without Ceph.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
radosgw=$here/radosgw.sh

fail() {
  echo "FAILED: $*"
  exit 1
}

# In here there is a store in the environment.
if [ "${1:-}" = inside ]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT

  # put EXPECTED_STATUS BODY [HEADER]: curl 7.88 signs what it is given, but does not hash the body.
  put() {
    local status headers=(-H "x-amz-content-sha256: $(printf %s "$2" | sha256sum | cut -d' ' -f1)")
    [ $# -lt 3 ] || headers+=(-H "$3")
    status=$(curl -s -o /dev/null -D "$scratch/head" -w '%{http_code}' -m 30 -X PUT \
      --aws-sigv4 "aws:amz:$AWS_REGION:s3" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
      --data-binary "$2" "${headers[@]}" "$AWS_ENDPOINT_URL_S3/$S3LECT_TEST_BUCKET/lock")
    [ "$status" = "$1" ] || fail "PUT with '${3:-no condition}' is answered $status, not $1"
    echo "PUT ${3:-(no condition)}: $status"
  }
  etag() { tr -d '\r' <"$scratch/head" | sed -n 's/^etag: *"\(.*\)"$/\1/ip'; }

  put 200 one 'If-None-Match: *'
  first=$(etag)
  put 412 two 'If-None-Match: *'
  put 200 three "If-Match: $first"
  second=$(etag)
  [ "$first" != "$second" ] || fail "a write did not change the ETag"
  put 412 four "If-Match: $first"
  put 412 five "If-Match: \"$second\""
  put 200 six "If-Match: $second"
  exit 0
fi

command -v radosgw >/dev/null && command -v ceph-mon >/dev/null && command -v ceph-osd >/dev/null ||
  { echo "skipped: Ceph is not installed"; exit 77; }
dir=$(mktemp -d)
trap '"$radosgw" stop --dir "$dir/b"; rm -rf "$dir"' EXIT

"$radosgw" run -- "$0" inside

status=0
"$radosgw" run --dir "$dir/a" -- false || status=$?
[ $status -eq 1 ] || fail "run passed $status on instead of 1"
[ ! -e "$dir/a" ] || fail "run left its directory"

# Two at a time: started and asked while a run is under way.
eval "$("$radosgw" start --dir "$dir/b")"
"$radosgw" run --dir "$dir/a" -- bash -c 'curl -sf "$AWS_ENDPOINT_URL_S3" "$0" >/dev/null' \
  "$AWS_ENDPOINT_URL_S3" || fail "two stores did not serve side by side"
again=$("$radosgw" start --dir "$dir/b")
grep -qF "$AWS_ENDPOINT_URL_S3" <<<"$again" || fail "a second start made another store"
given=$(env -u AWS_ENDPOINT_URL_S3 -u S3LECT_TEST_BUCKET "$radosgw" with --dir "$dir/b" -- printenv AWS_ENDPOINT_URL_S3)
[ "$given" = "$AWS_ENDPOINT_URL_S3" ] || fail "with did not give the started store"

# A start that meets the daemons of a killed one, whose files say nothing of being ready.
old=$(<"$dir/b/rgw.pid")
rm "$dir/b/env"
eval "$("$radosgw" start --dir "$dir/b")"
[ ! -e "/proc/$old/cmdline" ] || ! grep -q radosgw "/proc/$old/cmdline" || fail "the old one lives"
curl -sf "$AWS_ENDPOINT_URL_S3" >/dev/null || fail "no answer after a start over leftovers"
"$radosgw" stop --dir "$dir/b"
[ ! -e "$dir/b" ] || fail "stop left files"
! curl -sf "$AWS_ENDPOINT_URL_S3" >/dev/null || fail "the store answers after stop"

# A run that is killed takes its daemons along; CMD tells when to kill.
mkfifo "$dir/started" "$dir/hold"
"$radosgw" run --dir "$dir/a" -- bash -c 'echo > "$0/started"; read -r < "$0/hold"' "$dir" &
run=$!
read -r _ <"$dir/started"
pids=$(cat "$dir"/a/*.pid)
kill -KILL $run
wait $run 2>/dev/null || true
echo >"$dir/hold"
for pid in $pids; do
  while kill -0 "$pid" 2>/dev/null && [ "$(ps -o stat= -p "$pid" | cut -c1)" != Z ]; do
    sleep 0.02
  done
done
"$radosgw" stop --dir "$dir/a"

# What is not ours is not touched.
mkdir "$dir/c"
touch "$dir/c/precious"
status=0
"$radosgw" stop --dir "$dir/c" 2>/dev/null || status=$?
[ $status -eq 2 ] && [ -e "$dir/c/precious" ] || fail "stop removed files that are not its own"
echo "radosgw.sh keeps its promises"
