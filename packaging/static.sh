#!/usr/bin/env bash
# Builds the command as one static program, for any Linux (musl), and prints its path:
#
#   packaging/static.sh [amd64|arm64]    this machine's kind, unless another one is named
#
# deps/install-cross.sh fetches the compiler and the libraries. The build is in build/static-ARCH.
# Exit 77: they cannot be had here, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-$(uname -m)}" in
  amd64 | x86_64) arch=amd64 ;;
  arm64 | aarch64) arch=arm64 ;;
  *) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
esac
prefix=$(deps/install-cross.sh $arch)
build=build/static-$arch
unset CFLAGS LDFLAGS
cmake -S . -B $build -G Ninja --toolchain "$prefix/toolchain.cmake" --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_EXE_LINKER_FLAGS="-static -s" -DS3LECT_BUILD_TESTS=OFF -DS3LECT_LTO=OFF -DS3LECT_WERROR=ON \
  -DS3LECT_LLHTTP_SRC="$prefix/llhttp" >&2
cmake --build $build --target s3lect_cli -- --quiet >&2
echo "$PWD/$build/src/s3lect"
