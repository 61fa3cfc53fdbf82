#!/usr/bin/env bash
# Installs what s3lect is built and tested with from Debian's own archive (Debian 12 and later).
#   deps/install-debian.sh build   what the library, the command and the demo need
#   deps/install-debian.sh test    all of that, and what ./test/run.sh needs (the default)
#   deps/install-debian.sh full    all of that, and what ./test/run.sh --full needs
#   deps/install-debian.sh static  what packaging/static.sh needs, except cargo
# Silent and quick when nothing is missing, so that every front-door script can simply call it.
# Works as root or through sudo, never asks a question, and installs no recommended packages.
# Where the machine is not a Debian it says what to install and leaves the rest to CMake, which
# names each library that it cannot find.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

build=(build-essential cmake ninja-build pkg-config libuv1-dev libssl-dev libjsmn-dev node-llhttp
  libcmocka-dev openssl curl procps)
# Ceph: a monitor, an OSD and radosgw are a whole S3 server (test/stores/radosgw.sh).
# libcurl: to be compared with, in test/bench; the library itself does without.
# groff: to read the manual pages.
# cppcheck: to read the source with other eyes than the compilers'.
# lintian, mmdebstrap: to check the packages, and to install them into a new root (test/install/debian.sh).
# Redis: replicas for examples/tcp-proxy to stand in front of. nginx: to be measured beside it.
test=(clang clang-format libclang-rt-14-dev valgrind spin libcurl4-openssl-dev groff-base
  lintian mmdebstrap cppcheck
  radosgw ceph-mon ceph-osd ceph-common redis-server nginx libnginx-mod-stream)
# qemu-user: to run what is compiled for arm64. The others read the source.
full=(qemu-user-static gcc-aarch64-linux-gnu clang-15 clang-16 clang-19 clang-tidy-19)
static=(cmake ninja-build make perl pkg-config libjsmn-dev node-llhttp)
python3 -m pip --version >/dev/null 2>&1 || static+=(python3-pip)
# Node.js with its headers and npm, for examples/node-addon. A Node from elsewhere is left as it is,
# and has an npm of its own; Debian's npm is 340 small packages, 11 MB to fetch.
if ! command -v node >/dev/null; then
  test+=(nodejs libnode-dev npm)
elif [[ $(dpkg-query -W -f '${Version}' nodejs 2>/dev/null || true) == *dfsg* ]]; then
  test+=(libnode-dev)
  command -v npm >/dev/null || test+=(npm)
fi

case "${1:-test}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  full) wanted=("${build[@]}" "${test[@]}" "${full[@]}" "${static[@]}") ;;
  static) wanted=("${static[@]}") ;;
  *) echo "usage: ${0##*/} [build|test|full|static]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "deps: not a Debian system; what Debian calls ${wanted[*]} must be there already" >&2
  exit 0
fi

# One query for all of them; dpkg-query's own exit status only says that it did not know some.
installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null || true)"
missing=()
for package in "${wanted[@]}"; do
  [[ $installed == *" installed:$package "* ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "deps: neither root nor sudo here; have an administrator run:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp "${TMPDIR:-/tmp}/s3lect-deps.XXXXXX")
trap 'rm -f "$log"' EXIT
apt() { # A lock held by another apt is waited for; nothing may stop to ask.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}

echo "deps: installing from Debian: ${missing[*]}" >&2
# A failed update is not yet an error: the lists that are there may well be good enough.
apt update || true
if ! apt install --no-install-recommends "${missing[@]}"; then
  tail -n 25 "$log" >&2
  echo "deps: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
