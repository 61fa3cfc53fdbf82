#!/usr/bin/env bash
# Builds the static command as docs/deploy.md says, and tries it: static.sh ARCH FAKES3 VERSION
#
# ARCH is amd64 or arm64; the other machine's command runs under qemu-user. The demo's election is held
# with it, over TLS. Then it runs in a root that holds nothing else, as another user.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "failed: $*"
  exit 1
}

arch=$1 fakes3=$2 version=$3
case "$arch-$(uname -m)" in
  amd64-x86_64 | arm64-aarch64) emulator= ;;
  amd64-*) emulator=qemu-x86_64-static ;;
  *) emulator=qemu-aarch64-static ;;
esac
[ -z "$emulator" ] || emulator=$(command -v $emulator) || skip "no qemu-user here"
status=0
build=$(test/docs/blocks.sh docs/deploy.md portable-static-amd64)
program=$(bash -e -c "${build//amd64/$arch}" | tail -n 1) || status=$?
[ "$status" -ne 77 ] || skip "see above"
[ "$status" -eq 0 ]
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-static.XXXXXX")
trap 'rm -rf "$dir"' EXIT

headers=$(readelf -hldW "$program")
! grep -E 'INTERP|NEEDED' <<<"$headers" || fail "it is not static"
grep -q 'Type: .*DYN' <<<"$headers" || fail "it is not position-independent"
grep -q 'GNU_STACK .* RW ' <<<"$headers" || fail "its stack is executable"

mkdir -p "$dir/bin" "$dir/root"
ln -s "$fakes3" "$dir/bin/s3lect-fakes3"
printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$program" >"$dir/bin/s3lect"
chmod +x "$dir/bin/s3lect"
PATH=$dir/bin:$PATH examples/demo.sh --installed --tls >"$dir/log" 2>&1 || { cat "$dir/log"; fail "the demo"; }

# Nothing of the system is there, not even /proc.
if [ "$(id -u)" -eq 0 ]; then
  cp "$program" "$dir/root/s3lect"
  [ -z "$emulator" ] || cp "$emulator" "$dir/root/emulator"
  mkdir -m 1777 "$dir/root/store"
  chmod 755 "$dir"
  alone() {
    chroot --userspec=65534:65534 "$dir/root" ${emulator:+/emulator} /s3lect "$@"
  }
  [ "$(alone --version)" = "s3lect $version" ] || fail "--version"
  status=0
  said=$(alone status --store file:///store/lock.json --json) || status=$?
  [ "$status" = 3 ] || fail "status without a leader: exit $status, $said"
fi
echo "$(stat -c %s "$program") bytes for $arch hold an election"
