#!/usr/bin/env bash
# Types what README.md and docs/guide.md say, as a user of a bare Debian 12 types it: bare.sh VERSION
#
# The machine is a folder that mmdebstrap fills with the essential packages, apt and sudo, and that a
# user enters by chroot, with namespaces of his own for mounts and processes. He has the files of this
# work tree. Everything else comes from what the pages make him type. It needs Debian's archive.
# Exit 77: skipped, with the reason printed.
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 77
}

# --- as the user, on the bare machine -----------------------------------------------------------

run() { # BLOCK
  bash -e -c "$1" </dev/null >log 2>&1 || { cat log; echo "failed: $1"; exit 1; }
}

# A small S3 server and its keys: the guide's way for readers without a bucket.
try_small_store() {
  local server found=
  set -m # a process group of its own, to be ended as a whole
  bash -e -c "$(test/docs/blocks.sh docs/guide.md docs-bare store)" </dev/null >store.log 2>&1 &
  server=$!
  set +m
  exec {never}<> <(:)
  while kill -0 "$server" 2>/dev/null && ! { : </dev/tcp/127.0.0.1/9000; } 2>/dev/null; do
    read -r -t 0.1 -u "$never" || true
  done
  eval "$(test/docs/blocks.sh docs/guide.md docs-bare keys)"
  s3lect verify --quick --store s3://my-bucket/singleton.json >log 2>&1 || found=$?
  kill -- "-$server"
  [ -z "$found" ] || { cat store.log log; exit 1; }
  unset "${!AWS_@}"
}

type_the_pages() { # VERSION
  local page installed
  run "$(test/docs/blocks.sh README.md docs-bare demo)"
  run "$(test/docs/blocks.sh README.md docs-bare install)"
  installed=$(s3lect --version)
  [ "$installed" = "s3lect $1" ] || { echo "installed is $installed"; exit 1; }
  try_small_store
  for page in README.md docs/guide.md; do
    test/docs/page.sh $page /usr/local /usr/local/bin/s3lect-fakes3 /usr/bin/cc "$PWD/build/release"
  done
}

# --- as root, before and in the folder ----------------------------------------------------------

enter() { # ROOT VERSION
  mount --rbind /dev "$1/dev"
  mount -t proc proc "$1/proc"
  mount -t tmpfs tmp "$1/tmp"
  cp -L /etc/resolv.conf /etc/hosts "$1/etc"
  chroot "$1" useradd --create-home --shell /bin/bash reader
  echo 'reader ALL=(ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/reader"
  mkdir "$1/home/reader/s3lect"
  tar -x -C "$1/home/reader/s3lect"
  chroot "$1" chown -R reader: /home/reader
  # No exec: this shell is process 1 in there, and reaps what loses its parent.
  chroot "$1" su --login reader -c "cd s3lect && exec test/docs/bare.sh --user $2"
  exit 0
}

case $1 in
  --user) type_the_pages "$2"; exit 0 ;;
  --inside) enter "$2" "$3" ;;
esac

cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || skip "a scratch root needs root"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap here"
why=$(unshare --mount true 2>&1) || skip "no mount namespace here: $why"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "not a git work tree"
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-bare.XXXXXX")
trap 'rm -rf --one-file-system "$dir"' EXIT

# Debian's archive as this machine reaches it: the same mirror, proxy and rules on dates.
options=()
while IFS= read -r line; do
  options+=("--aptopt=${line%;}")
done < <(apt-config dump | grep -E '^Acquire::(https?::|Check-)')
from=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
  [ ! -s "$file" ] || from+=("$file")
done
mmdebstrap --quiet --variant=minbase --include=sudo "${options[@]}" bookworm "$dir/root" "${from[@]}" \
  >"$dir/log" 2>&1 || skip "mmdebstrap: $(tail -n 1 "$dir/log")"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - |
  unshare --mount --pid --fork --kill-child "$PWD/test/docs/bare.sh" --inside "$dir/root" "$1"
