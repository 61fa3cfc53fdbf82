#!/usr/bin/env bash
# The library compiles where there is no Linux: portable.sh CC DIR...
# What only Linux has is used in src/cli, or behind an #if that asks for Linux or for the name; what
# glibc's headers include by chance is included by name; and what replaces Linux's calls compiles
# (DIRs: where libuv's headers are). docs/architecture.md names the files that have such conditions.
# With -c FILE, only that file is read.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

linux='accept4|pipe2|epoll_[a-z0-9]+|eventfd|timerfd_[a-z]+|signalfd|inotify_[a-z0-9]+|prctl'
linux+='|pidfd_[a-z]+|memfd_create|getrandom|renameat2|openat2|splice|tee|gettid|SOCK_(CLOEXEC|NONBLOCK)'
linux+='|SO_(PEERCRED|DOMAIN|PROTOCOL|BINDTODEVICE|BUSY_POLL|INCOMING_CPU)|TCP_(USER_TIMEOUT|QUICKACK|INFO)'
linux+='|O_(TMPFILE|PATH)|CLOCK_(BOOTTIME|MONOTONIC_RAW)|st_mtim|strchrnul|mempcpy|asprintf'
linux+='|secure_getenv|program_invocation_[a-z_]+|F_OFD_[A-Z]+'

# Prints the uses of such names in the files, without comments and strings, unless they are behind a
# condition.
uses() { # FILE...
  awk -v names="$linux" '
    FNR == 1 { depth = behind = comment = 0 }
    {
      line = $0
      gsub(/"([^"\\]|\\.)*"/, "", line)
      gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
      if (comment) {
        if (line !~ /\*\//) next
        sub(/.*\*\//, "", line); comment = 0
      }
      if (line ~ /\/\*/) { comment = 1; sub(/\/\*.*/, "", line) }
    }
    line ~ /^ *# *if/ {
      depth++
      if (!behind && (line ~ /__linux__|__APPLE__|TFD_/ || line ~ "(^|[^A-Za-z0-9_])(" names ")([^A-Za-z0-9_]|$)"))
        behind = depth
      next
    }
    line ~ /^ *# *endif/ { if (behind == depth) behind = 0; depth--; next }
    behind { next }
    line ~ /^ *# *include <(linux\/|sys\/(prctl|eventfd|timerfd|signalfd|epoll|inotify|random|syscall)\.h)/ ||
    line ~ "(^|[^A-Za-z0-9_])(" names ")([^A-Za-z0-9_]|$)" { print FILENAME ":" FNR ": only Linux has this: " $0 }
  ' "$@"
}

# FreeBSD declares AF_INET and struct sockaddr in <sys/socket.h> alone.
sockets() { # FILE...
  grep -lE '^#include <(netinet/in|netdb|arpa/inet)\.h>' "$@" | while read -r file; do
    grep -qE '^#include <(sys/socket|uv)\.h>' "$file" ||
      echo "$file: includes network headers and not <sys/socket.h>"
  done
}

if [ "$1" = -c ]; then
  uses "$2"
  sockets "$2"
  exit
fi
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: not a git work tree"; exit 77; }
cc=$1
mapfile -t files < <(git ls-files 'include/*.h' 'src/*.[ch]' 'examples/node-addon/native/*.[ch]' | grep -v '^src/cli/')
found=$(uses "${files[@]}"; sockets "${files[@]}")
[ -z "$found" ] || { echo "$found"; exit 1; }

page=docs/architecture.md
named=$(sed -n 's/^| `\(src\/[^`]*\.[ch]\)` | .*/\1/p' $page | sort)
asking=$(grep -lE '^ *# *if.*[^A-Z_](__linux__|__APPLE__|CLOCK_|TFD_|MSG_|SOCK_|SO_)' "${files[@]}" | sort)
diff <(echo "$named") <(echo "$asking") >&2 ||
  { echo "$page names other files that depend on the system (<) than there are (>)"; exit 1; }

mapfile -t conditional < <(grep -l __linux__ "${files[@]}")
for file in "${conditional[@]}"; do
  "$cc" -std=c11 -D_GNU_SOURCE -U__linux__ -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc \
    "${@:2}" "$file"
done

# It can fail.
bad=$(mktemp "${TMPDIR:-/tmp}/s3lect-portable.XXXXXX.c")
trap 'rm -f "$bad"' EXIT
printf '%s\n' '#include <netdb.h>' '#ifdef __linux__' 'int a = accept4();' '#else' '#endif' \
  '/* accept4 */ int b = st_mtim;' >"$bad"
[ "$("$0" -c "$bad" | wc -l)" = 2 ] || { echo "does not see what it should:"; "$0" -c "$bad"; exit 1; }
echo "${#files[@]} files, ${#conditional[@]} of them compiled as if elsewhere"
