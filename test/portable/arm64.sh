#!/usr/bin/env bash
# Builds for arm64 and runs tests of the library there, under qemu-user:
#   arm64.sh BUILD_DIR [CTEST_OPTION...]
#
# gcc-aarch64-linux-gnu compiles, with headers and libraries of Debian's for arm64, which mmdebstrap unpacks
# into BUILD_DIR/root. In a namespace of its own the kernel starts programs for arm64 by qemu: this machine's
# settings stay as they are. Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $*"
  exit 77
}

if [ "${1:-}" = --inside ]; then
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  printf '%s' "$2" >/proc/sys/fs/binfmt_misc/register
  export QEMU_LD_PREFIX=$3/root
  exec ctest --test-dir "$3/build" --no-tests=error --output-on-failure "${@:4}"
fi

dir=$1
shift
cc=aarch64-linux-gnu-gcc
for tool in $cc mmdebstrap; do
  command -v $tool >/dev/null || skip "no $tool here"
done
qemu=$(command -v qemu-aarch64-static) || skip "no qemu-user-static here"
# Programs of 64 bits, little-endian, for AArch64 (183); F: qemu is opened now, before any change of root.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
format=":s3lect-arm64:M::$magic:$mask:$qemu:F"
why=$(unshare --user --map-root-user --mount sh -c \
  'mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc' 2>&1) || skip "no binfmt_misc here: $why"

mkdir -p "$dir"
if [ ! -d "$dir/root" ]; then
  rm -rf "$dir/new"
  packages=libc6-dev,libgcc-12-dev,libuv1-dev,libssl-dev,libcmocka-dev,libjsmn-dev,node-llhttp
  mmdebstrap --quiet --variant=extract --arch=arm64 --include=$packages bookworm "$dir/new" >"$dir/log" 2>&1 ||
    skip "mmdebstrap cannot unpack Debian for arm64: $(tail -n 1 "$dir/log")"
  mv "$dir/new" "$dir/root"
fi
cat >"$dir/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $cc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT $dir/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $dir/root)
set(ENV{PKG_CONFIG_LIBDIR} $dir/root/usr/lib/aarch64-linux-gnu/pkgconfig:$dir/root/usr/share/pkgconfig)
END
unset CFLAGS LDFLAGS
cmake -S . -B "$dir/build" -G Ninja --toolchain "$dir/toolchain.cmake" --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
  -DS3LECT_LTO=OFF -DS3LECT_PACK_RELOCS=OFF -DS3LECT_INSTALL=OFF -DS3LECT_WERROR=ON \
  -DS3LECT_LLHTTP_SRC="$dir/root/usr/share/llhttp" \
  -DS3LECT_LLHTTP_DIR="$dir/root/usr/share/include/llhttp" >/dev/null
cmake --build "$dir/build" -- --quiet
exec unshare --user --map-root-user --mount "$0" --inside "$format" "$dir" "$@"
