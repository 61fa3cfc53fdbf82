#!/usr/bin/env bash
# The library and the command without a store: without.sh SOURCE CC TYPE LIBRARY OPTION SCHEME TEXT
#
# Builds them with -DOPTION=OFF, and else as LIBRARY, which has the store, was built. The store's
# functions exist and say that the store is missing; TEXT, which only that store's code holds, is in
# neither; and the library is smaller than LIBRARY.
set -euo pipefail
source=$1 cc=$2 type=$3 with=$4 option=$5 scheme=$6 text=$7
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-without.XXXXXX")
trap 'rm -rf "$dir"' EXIT

fail() { echo "$*"; exit 1; }

cmake -S "$source" -B "$dir/OFF" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE="$type" \
  -DS3LECT_BUILD_TESTS=OFF -DS3LECT_BUILD_FAKES3=OFF -DS3LECT_INSTALL=OFF "-D$option=OFF" >"$dir/log" &&
  cmake --build "$dir/OFF" >>"$dir/log" 2>&1 || { tail -n 30 "$dir/log"; fail "cannot be built"; }
strip -o "$dir/ON.so" "$with"
strip -o "$dir/OFF.so" "$dir/OFF/src/libs3lect.so"
on=$(stat -c %s "$dir/ON.so") off=$(stat -c %s "$dir/OFF.so")
echo "$option: $on bytes, without it $off"
[ "$off" -lt "$on" ] || fail "the library without the store is not smaller"
grep -q "$text" "$dir/ON.so" || fail "with the store, the library does not hold \"$text\""
for file in OFF.so OFF/src/s3lect; do
  ! grep -q "$text" "$dir/$file" || fail "$file holds \"$text\""
done
said=$("$dir/OFF/src/s3lect" status --store "$scheme" 2>&1) && status=0 || status=$?
[ "$status" = 2 ] || fail "exit status $status: $said"
case $said in
  *"was built without this store ($option=OFF)"*) ;;
  *) fail "said: $said" ;;
esac
echo "$said"
