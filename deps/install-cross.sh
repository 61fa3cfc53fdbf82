#!/usr/bin/env bash
# Fetches and builds what static programs are made of, with musl as C library, and prints the folder
# that it is in:
#
#   install-cross.sh amd64|arm64   for this kind of machine: bin/cc, bin/ar, CMake's toolchain.cmake, and
#                                  libuv, OpenSSL, llhttp and jsmn
#
# The compiler is Zig (install-zig.sh). The sources of libuv and OpenSSL are fetched from crates.io with
# cargo; deps/cross/Cargo.lock has their checksums. llhttp and jsmn are copied from Debian's packages
# (install-debian.sh static). It lives in the user's cache ($XDG_CACHE_HOME/s3lect, else
# ~/.cache/s3lect). The first call takes some minutes; what was built once is there at once.
# Exit 77: it cannot be had here (no pip or cargo, no network), and says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect

say() { echo "deps: $*" >&2; }

skip() {
  say "no static libraries: $*"
  exit 77
}

# Unless FOLDER is there: runs the command, which fills the folder $fresh. That becomes FOLDER.
make_folder() { # FOLDER COMMAND...
  folder=$1
  [ ! -d "$folder" ] || return 0
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  "${@:2}"
  mv -T "$fresh" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
}

sum() { cat "$@" | sha256sum | cut -c1-16; }

fetch_sources() {
  say "fetching the sources of libuv and OpenSSL with cargo into $folder"
  cargo --version >/dev/null 2>&1 || skip "there is no cargo here to fetch the sources with"
  if ! cargo vendor --locked --manifest-path "$here/cross/Cargo.toml" "$fresh/crates" </dev/null >"$fresh/log" 2>&1; then
    cat "$fresh/log" >&2
    ! grep -q checksum "$fresh/log" || { say "cargo gave something else than deps/cross/Cargo.lock names"; exit 1; }
    skip "cargo could not fetch the sources, for the reason above"
  fi
  mv "$fresh/crates/libuv-sys2/libuv" "$fresh/crates/openssl-src/openssl" "$fresh"
  rm -r "$fresh/crates" "$fresh/log"
}

# libuv's and OpenSSL's own builds, with what s3lect uses of OpenSSL: TLS over TCP, and hashes.
# Certificates are looked up in /etc/ssl, where most Linux distributions have them.
build_openssl() { # SOURCE CONFIGURATION
  mkdir "$fresh/build-openssl" &&
    cd "$fresh/build-openssl" &&
    perl "$1/Configure" "$2" CC="$fresh/bin/cc" AR="$fresh/bin/ar" RANLIB="$fresh/bin/ranlib" \
      --prefix="$folder" --libdir=lib --openssldir=/etc/ssl no-shared no-module no-dso no-apps no-docs no-tests \
      no-comp no-legacy no-quic no-dtls no-psk no-srp no-cms no-ts no-ui-console -fPIC &&
    make -j"$(nproc)" build_libs &&
    make install_dev DESTDIR="$fresh/installed"
}

build_libuv() { # SOURCE
  cmake -S "$1" -B "$fresh/build-uv" -G Ninja --toolchain "$fresh/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib -DLIBUV_BUILD_SHARED=OFF -DBUILD_TESTING=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON &&
    cmake --build "$fresh/build-uv" &&
    DESTDIR=$fresh/installed cmake --install "$fresh/build-uv"
}

build() { # MACHINE ZIG SOURCES LLHTTP
  local tool
  say "building OpenSSL and libuv for $1 with musl into $folder"
  mkdir "$fresh/bin" "$fresh/llhttp"
  for tool in "cc -target $1-linux-musl" ar ranlib; do
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$2" "$tool" >"$fresh/bin/${tool%% *}"
  done
  chmod +x "$fresh"/bin/*
  sed "s/@MACHINE@/$1/" "$here/cross/toolchain.cmake" >"$fresh/toolchain.cmake"
  # What Zig would keep of each object is not needed again.
  (unset CFLAGS LDFLAGS && export ZIG_GLOBAL_CACHE_DIR=$fresh/cache && build_openssl "$3/openssl" "linux-$1" && build_libuv "$3/libuv") \
    >"$fresh/log" 2>&1 || { tail -n 20 "$fresh/log" >&2; say "the build for $1 failed"; exit 1; }
  mv "$fresh/installed$folder"/* "$fresh"
  rm -r "$fresh"/{build-openssl,build-uv,cache,installed,log}
  sed 's/-l:libuv.a/-luv/' "$fresh/lib/pkgconfig/libuv-static.pc" >"$fresh/lib/pkgconfig/libuv.pc"
  cp "$4"/{llhttp,api,http}.c "$fresh/llhttp"
  cp /usr/share/include/llhttp/llhttp.h /usr/include/jsmn.h "$fresh/include"
}

case "${1:-}" in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
  *) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
esac
llhttp=/usr/share/llhttp
[ -e /usr/include/jsmn.h ] && [ -e "$llhttp/llhttp.c" ] || skip "jsmn or llhttp is missing; run deps/install-debian.sh static"
zig=$("$here/install-zig.sh")
make_folder "$cache/cross-sources-$(sum "$here/cross/Cargo.lock")" fetch_sources
sources=$folder
make_folder "$cache/static-$1-$(sum "$0" "$here"/zig.txt "$here"/cross/*)" build "$machine" "$zig" "$sources" "$llhttp"
echo "$folder"
