#!/usr/bin/env bash
# The verdict of "s3lect verify" on a server of objects from a package registry:
#
#   test-packaged.sh NAME S3LECT [SUITE]
#
# SUITE is a program that must pass there, too.
#
# moto's verdict is a matter of luck: a full verify finds in about one of ten runs that two writers
# may win there (docs/operations.md). So it may be either, but must be one.
set -euo pipefail
name=$1 s3lect=$2 suite=${3:-}
if [ "${4:-}" != inside ]; then
  exec "$(dirname "$0")/packaged.sh" "$name" "$0" "$name" "$s3lect" "$suite" inside
fi

case "$name" in
  moto) lockfile='(safe|unsafe)' epochs='(safe|unsafe)' ;;
  s3proxy) lockfile=unsafe epochs=safe ;;
  s3mock) lockfile=unsafe epochs=unsafe ;;
  azurite) lockfile=safe epochs=safe ;;
esac

fail() {
  echo "FAILED: $name: $*"
  exit 1
}

for protocol in lockfile epochs; do
  status=0
  report=$("$s3lect" verify --store "$S3LECT_TEST_STORE/locks/db.json" --protocol $protocol) || status=$?
  echo "$report"
  grep -qE "^lockfile +$lockfile\b" <<<"$report" || fail "the lockfile is not $lockfile there"
  grep -qE "^epochs +$epochs\b" <<<"$report" || fail "epoch files are not $epochs there"
  [ "$name" = azurite ] || grep -qF "ETags     wanted as they are given in If-Match" <<<"$report" || fail "its ETags were not understood"
  safe=1
  ! grep -qE "^$protocol +safe\b" <<<"$report" || safe=0
  [ $status -eq $safe ] || fail "verify --protocol $protocol exits with $status"
done
[ -z "$suite" ] || "$suite" || fail "the suite of stores does not pass there"
