#!/usr/bin/env bash
# Builds programs that use the library, outside of the tree, and runs them:
#   consumers.sh PREFIX SCRATCH CC package|pkg-config|subdirectory|fetchcontent|embed|tcp-proxy
# PREFIX is where install-prefix.sh put the library. Exit 77: skipped, with the reason printed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)

prefix=$1 scratch=$2/$4 cc=$3 part=$4
rm -rf "$scratch"
mkdir -p "$scratch"
export LD_LIBRARY_PATH=$prefix/lib
unset S3LECT_DIR s3lect_DIR CMAKE_PREFIX_PATH CFLAGS LDFLAGS

quiet() {
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; echo "failed: $*" >&2; exit 1; }
}

cxx() {
  command -v c++ >/dev/null || { echo "skipped: no C++ compiler here"; exit 77; }
}

configure() { # PROJECT BUILD OPTION...
  quiet cmake -S "$here/$1" -B "$scratch/$2" -G Ninja -DCMAKE_C_COMPILER="$cc" "${@:3}"
}

build() { # PROJECT BUILD OPTION...
  configure "$@"
  quiet cmake --build "$scratch/$2" --parallel "$(nproc)"
}

run() { # PROGRAM...: each leads, once
  local program
  for program; do
    "$program" >"$scratch/out" || { cat "$scratch/out"; echo "failed: $program" >&2; exit 1; }
    grep -q -x 'leading, epoch 8' "$scratch/out" || { echo "$program has not led" >&2; exit 1; }
    echo "led: ${program#"$scratch"/}"
  done
}

needs() { # PROGRAM LIBRARY
  local dynamic
  dynamic=$(readelf -dW "$1")
  [[ $dynamic == *"[$2]"* ]]
}

case $part in
  package)
    cxx
    # All of it at once, then each library without the other one's files.
    build package all -DCMAKE_PREFIX_PATH="$prefix" -DABSENT=nothing
    run "$scratch"/all/consumer-*
    "$(cat "$scratch/all/command")" --version
    ! cmake -S "$here/package" -B "$scratch/none" -G Ninja -DCMAKE_C_COMPILER="$cc" -DABSENT=nothing \
      -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="shared;shard" >"$scratch/log" 2>&1 &&
      grep -q 'no component "shard"' "$scratch/log" || { cat "$scratch/log"; exit 1; }
    mkdir "$scratch/half"
    for kind in shared static; do
      rm -rf "$scratch/half"
      cp -a "$prefix" "$scratch/half"
      if [ $kind = shared ]; then
        rm "$scratch"/half/lib/libs3lect.a "$scratch"/half/lib/cmake/s3lect/s3lect-static*.cmake
        # Its users need no OpenSSL; and without pkg-config libuv's own package is taken.
        absent=static without=(-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
          -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
        mkdir "$scratch/half/lib/cmake/libuv"
        echo 'add_library(libuv::uv INTERFACE IMPORTED)
          target_link_libraries(libuv::uv INTERFACE uv)' >"$scratch/half/lib/cmake/libuv/libuvConfig.cmake"
      else
        rm "$scratch"/half/lib/libs3lect.so* "$scratch"/half/lib/cmake/s3lect/s3lect-shared*.cmake
        absent=shared without=()
      fi
      LD_LIBRARY_PATH=$scratch/half/lib
      build package "$kind" -DCMAKE_PREFIX_PATH="$scratch/half" -DCOMPONENTS="$kind" -DABSENT=$absent \
        "${without[@]}"
      run "$scratch/$kind"/consumer-*
    done
    needs "$scratch/shared/consumer-shared" libs3lect.so.0 || { echo "not the shared library" >&2; exit 1; }
    ! needs "$scratch/static/consumer-static" libs3lect.so.0 || { echo "not the static library" >&2; exit 1; }
    # s3lect::s3lect is the shared one, where it is there.
    for build in all shared; do
      needs "$scratch/$build/consumer-s3lect" libs3lect.so.0 || { echo "$build: not the shared library" >&2; exit 1; }
    done
    ! needs "$scratch/static/consumer-s3lect" libs3lect.so.0 || { echo "not the static library" >&2; exit 1; }
    ;;
  pkg-config)
    command -v pkg-config >/dev/null || { echo "skipped: no pkg-config here"; exit 77; }
    # The prefix may be moved: nothing in it names where it was made.
    cp -a "$prefix" "$scratch/moved"
    export PKG_CONFIG_PATH=$scratch/moved/lib/pkgconfig LD_LIBRARY_PATH=$scratch/moved/lib
    pkg-config --print-errors --atleast-version=0.1 s3lect
    read -r -a flags < <(pkg-config --cflags --libs s3lect)
    "$cc" -std=c11 -D_XOPEN_SOURCE=700 "$here/consumer.c" -o "$scratch/shared" "${flags[@]}"
    # The static library though the shared one is there, too: as docs/embedding.md tells.
    read -r -a chosen < <(pkg-config --static --cflags --libs s3lect | sed 's/-ls3lect/-l:libs3lect.a/')
    "$cc" -std=c11 -D_XOPEN_SOURCE=700 "$here/consumer.c" -o "$scratch/chosen" "${chosen[@]}"
    ! needs "$scratch/chosen" libs3lect.so.0 || { echo "not the static library" >&2; exit 1; }
    # OpenSSL is the library's own affair.
    [[ " ${flags[*]} " != *" -lssl "* ]] || { echo "pkg-config: -lssl for all" >&2; exit 1; }
    needs "$scratch/shared" libs3lect.so.0 || { echo "not the shared library" >&2; exit 1; }
    rm "$scratch"/moved/lib/libs3lect.so*
    read -r -a flags < <(pkg-config --static --cflags --libs s3lect)
    "$cc" -std=c11 -D_XOPEN_SOURCE=700 "$here/consumer.c" -o "$scratch/static" "${flags[@]}"
    LD_LIBRARY_PATH=$prefix/lib
    run "$scratch/shared" "$scratch/static" "$scratch/chosen"
    ;;
  subdirectory)
    build subdirectory build -DS3LECT_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug
    run "$scratch"/build/consumer-{static,shared,s3lect}
    ! needs "$scratch/build/consumer-s3lect" libs3lect.so.0 || { echo "not the static library" >&2; exit 1; }
    ;;
  fetchcontent)
    build fetchcontent build -DFETCHCONTENT_SOURCE_DIR_S3LECT="$source" -DCMAKE_BUILD_TYPE=Debug
    run "$scratch/build/consumer-static"
    tests=$(ctest --test-dir "$scratch/build" -N)
    [[ $tests == *'Total Tests: 1' ]] || { echo "tests that are not the consumer's: $tests"; exit 1; }
    quiet cmake --install "$scratch/build" --prefix "$scratch/prefix"
    [ "$(cd "$scratch/prefix" && find . -type f)" = ./bin/consumer-static ] ||
      { echo "more than the consumer was installed:"; find "$scratch/prefix" -type f; exit 1; }
    ;;
  embed)
    # examples/embed on its own: it listens, stands, and ends in good order.
    mkfifo "$scratch/out"
    build ../../examples/embed build -DCMAKE_PREFIX_PATH="$prefix"
    "$scratch/build/example-embed" --store "file://$scratch/lock.json" --register "$scratch/register" \
      --id a --leader-timeout 2500 >"$scratch/out" &
    pid=$!
    trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT
    while read -r line; do
      echo "$line"
      [[ $line != accepted:* ]] || kill -TERM "$pid"
    done <"$scratch/out"
    wait "$pid"
    trap - EXIT
    grep -q '^[0-9]* 1 a$' "$scratch/register" || { echo "nothing was written" >&2; exit 1; }
    ;;
  tcp-proxy)
    build ../../examples/tcp-proxy build -DCMAKE_PREFIX_PATH="$prefix"
    help=$("$scratch/build/example-tcp-proxy" --help)
    [[ $help == *--backend* ]] || { echo "--help: $help" >&2; exit 1; }
    ;;
  *)
    echo "usage: ${0##*/} PREFIX SCRATCH CC package|pkg-config|subdirectory|fetchcontent|embed|tcp-proxy" >&2
    exit 2
    ;;
esac
rm -rf "$scratch"
