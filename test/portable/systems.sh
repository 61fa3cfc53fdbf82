#!/usr/bin/env bash
# Compiles every source of the library for another system, with the warnings that the build asks for,
# and keeps no result: systems.sh BUILD TARGET
#
# TARGET is one of Zig's: aarch64-macos, x86_64-freebsd or x86_64-linux-musl; for Linux the command is
# compiled, too. Zig has the headers of the systems. Those of libuv, OpenSSL, llhttp and jsmn are this
# machine's: they are the same for all systems of 64 bits.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

build=$1 target=$2
status=0
zig=$("$root/deps/install-zig.sh") || status=$?
[ "$status" -ne 77 ] || { echo "skipped: no Zig here, see above"; exit 77; }
[ "$status" -eq 0 ]
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-systems.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# The words of the command line that compiles the library, without those for this system.
mapfile -t words < <(
  sed -n 's/^ *"command": "\(.*-DS3LECT_BUILDING .*\)",$/\1/p' "$build/compile_commands.json" | head -n 1 | tr ' ' '\n'
)
flags=() includes=()
for word in "${words[@]}"; do
  case "$word" in
    -D* | -W* | -std=*) flags+=("$word") ;;
    -I"$root"*) flags+=("$word") ;;
    -I*) includes+=("$word") ;;
    /*/include*) includes+=("-I$word") ;; # after -isystem
  esac
done
[ ${#flags[@]} -gt 5 ] || { echo "no command line of the library in $build/compile_commands.json"; exit 1; }

# Only these headers of this machine may be seen.
for header in uv.h uv/version.h llhttp.h jsmn.h openssl/ssl.h openssl/configuration.h; do
  path=$(printf '#define JSMN_HEADER\n#include <%s>\n' "$header" | cc -M -x c "${includes[@]}" - | tr ' ' '\n' |
    awk -v end="/$header" 'substr($0, length($0) - length(end) + 1) == end { path = $0 } END { print path }')
  part=$dir/include/${header%"${header##*/}"}
  mkdir -p "$part"
  if [ "$part" = "$dir/include/" ]; then cp "$path" "$part"; else cp "${path%/*}"/*.h "$part"; fi
done

mapfile -t sources < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | grep "^$root/src/" | sort -u)
[[ $target == *-linux-* ]] || mapfile -t sources < <(printf '%s\n' "${sources[@]}" | grep -v "^$root/src/cli/")
export zig target dir
# shellcheck disable=SC2016
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -I{} sh -c \
  'exec "$zig" cc -target "$target" "$@" -c -o "$dir/$$.o"' - "${flags[@]}" -Werror -isystem "$dir/include" {} || exit 1
echo "${#sources[@]} sources compile for $target"
