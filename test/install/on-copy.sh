#!/usr/bin/env bash
# Runs a command as root on a copy of this machine: on-copy.sh COMMAND...
#
# The copy has the files of the root file system, and its own /proc and /tmp. All that the command
# writes or installs goes to memory and vanishes with the command, and so do its processes.
# Exit 77: skipped, with the reason printed.
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 77
}

if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || skip "a copy of the machine needs root"
  why=$(unshare --mount true 2>&1) || skip "no mount namespace here: $why"
  dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-copy.XXXXXX")
  trap 'rmdir "$dir"' EXIT
  status=0
  unshare --mount --pid --fork --kill-child "$0" --inside "$dir" "$@" || status=$?
  exit "$status"
fi

dir=$2
shift 2
mount -t tmpfs s3lect-copy "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root"
why=$(mount -t overlay s3lect-copy -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root" 2>&1) ||
  skip "no overlay of the root file system here: $why"
mount --rbind /dev "$dir/root/dev"
mount -t proc proc "$dir/root/proc"
mount -t tmpfs tmp "$dir/root/tmp"
unset TMPDIR
exec chroot "$dir/root" "$@"
