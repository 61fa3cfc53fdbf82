#!/usr/bin/env bash
# Installs a build into a prefix, and checks the installed files:
#   install-prefix.sh BUILD PREFIX VERSION
set -euo pipefail

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 prefix=$2 version=$3
rm -rf "$prefix"
said=$(cmake --install "$build" --prefix "$prefix" 2>&1)
cd "$prefix"

fail() {
  echo "failed: $*" >&2
  find . -type f -o -type l | sort >&2
  exit 1
}

for header in s3lect.h $(cd "$source/include" && echo s3lect/*.h); do
  cmp -s "$source/include/$header" "include/$header" || fail "include/$header"
done
man_pages=
! command -v perl >/dev/null || man_pages="share/man/man1/s3lect.1 share/man/man1/s3lect-fakes3.1 share/man/man3/s3lect.3"
for file in bin/s3lect bin/s3lect-fakes3 lib/libs3lect.a lib/pkgconfig/s3lect.pc $man_pages \
  share/bash-completion/completions/s3lect \
  lib/systemd/system/s3lect-run@.service lib/cmake/s3lect/s3lect-config.cmake; do
  [ -s "$file" ] || fail "no $file"
done
[ "$(readlink lib/libs3lect.so)" = "libs3lect.so.${version%%.*}" ] || fail "lib/libs3lect.so"
[ "$(readlink "lib/libs3lect.so.${version%%.*}")" = "libs3lect.so.$version" ] || fail "the soname's link"
dynamic=$(readelf -dW "lib/libs3lect.so.$version")
[[ $dynamic == *"SONAME"*"[libs3lect.so.${version%%.*}]"* ]] || fail "the soname"
[ "$(bin/s3lect --version)" = "s3lect $version" ] || fail "bin/s3lect --version"

# Everything is where one expects it, and nothing of the tests is among it.
odd=$(find . -type f ! -path './include/*' ! -path './lib/*' ! -path './bin/s3lect' \
  ! -path './bin/s3lect-fakes3' ! -path './share/*')
[ -z "$odd" ] || fail "what is $odd?"
# The prefix itself may be below the source: what is left when it is taken out must not.
named=$(grep -r -F "$source" include lib/cmake lib/pkgconfig lib/systemd share | sed "s|$PWD||g" | grep -F "$source") || true
[ -z "$named" ] || fail "the source's path is in there: $named"
! grep -r -l '@[A-Z0-9_]*@' lib/pkgconfig lib/systemd >&2 || fail "a variable was not filled in"
grep -q "^ExecStart=$prefix/bin/s3lect run " lib/systemd/system/s3lect-run@.service || fail "the unit's command"

# What it said to set, is what it takes.
lines=$(grep '^  export ' <<<"$said") || fail "it does not say what to set: $said"
[ "$(wc -l <<<"$lines")" = 4 ] || fail "what to set: $lines"
(
  set +u
  eval "$lines"
  [ "$(command -v s3lect)" = "$prefix/bin/s3lect" ] || fail "PATH"
  [ "${LD_LIBRARY_PATH%%:*}" = "$prefix/lib" ] || fail "LD_LIBRARY_PATH"
  [ "${CMAKE_PREFIX_PATH%%:*}" = "$prefix" ] || fail "CMAKE_PREFIX_PATH"
  ! command -v pkg-config >/dev/null || pkg-config --exists s3lect || fail "PKG_CONFIG_PATH"
)
! DESTDIR=$prefix/destdir cmake --install "$build" --prefix /opt/x 2>&1 | grep '^  export ' ||
  fail "a package's build is told what to set"
rm -r destdir

# By components, as packages are made.
cmake --install "$build" --prefix "$prefix/parts" --component s3lect_runtime >/dev/null
[ "$(cd parts && find . -name '*.so*' -o -type f | sort | tr '\n' ' ')" = \
  "./lib/libs3lect.so.${version%%.*} ./lib/libs3lect.so.$version " ] || fail "component s3lect_runtime"
rm -r parts
cmake --install "$build" --prefix "$prefix/parts" --component testing >/dev/null
[ "$(parts/bin/s3lect-fakes3 --version)" = "s3lect-fakes3 $version" ] || fail "component testing"
rm -r parts
echo "$(find . -type f | wc -l) files"
