#!/usr/bin/env bash
# The toolchain's protections are in the shared library and the command, and what a debugger needs to
# walk through them: unwind tables, of the code or of the debug information:
#   hardening.sh OPTIMIZED FILE...   OPTIMIZED: 1 where _FORTIFY_SOURCE works, else 0
# Exit 77: skipped, with the reason printed.
set -euo pipefail

optimized=$1
shift
command -v readelf >/dev/null || { echo "skipped: no readelf here"; exit 77; }

failed=0
want() { # FILE WHAT PATTERN TEXT
  if ! grep -q -E -e "$3" <<<"$4"; then
    echo "$1: $2"
    failed=1
  fi
}

for file; do
  name=${file##*/}
  headers=$(readelf -hlW "$file")
  dynamic=$(readelf -dW "$file")
  symbols=$(readelf -sW --dyn-syms "$file")
  want "$name" "not position-independent (PIE, -fPIC)" 'Type: +DYN ' "$headers"
  [[ $name == *.so* ]] || want "$name" "not linked with -pie" 'FLAGS_1.* PIE' "$dynamic"
  want "$name" "no GNU_RELRO segment (-z relro)" ' GNU_RELRO ' "$headers"
  want "$name" "symbols are bound late (-z now)" '\(FLAGS(_1)?\).*(BIND_)?NOW' "$dynamic"
  want "$name" "its stack is executable (-z noexecstack)" 'GNU_STACK .* RW ' "$headers"
  want "$name" "no stack protector (-fstack-protector-strong)" '__stack_chk_fail' "$symbols"
  if [ "$optimized" = 1 ]; then
    want "$name" "not fortified (_FORTIFY_SOURCE)" '__(mem|str|v?sn?)[a-z]*_chk' "$symbols"
  fi
  frames=$(readelf --debug-dump=frames "$file" | grep -c ' FDE ' || true)
  [ "$frames" -gt 300 ] || { echo "$name: unwind tables for $frames functions only"; failed=1; }
  if grep -q -E 'TEXTREL|\((RPATH|RUNPATH)\)' <<<"$dynamic" && [[ $name == *.so* ]]; then
    echo "$name: text relocations, or a search path of the machine it was built on"
    failed=1
  fi
done
[ "$failed" = 0 ] || { echo "packaging/hardening.cmake sets what is missing" >&2; exit 1; }
echo "$# files are protected"
