#!/usr/bin/env bash
# Fetches Zig from PyPI with pip, to compile for other machines and libcs with "zig cc -target ...", and
# prints the program's path. Version and checksums are those of deps/zig.txt. It lives in the user's cache
# ($XDG_CACHE_HOME/s3lect, else ~/.cache/s3lect); fetched once, it is there at once. Zig's own cache of
# what it compiles is beside it (ZIG_GLOBAL_CACHE_DIR says otherwise).
# Exit 77: it cannot be had here (no pip, no network), and says so.
set -euo pipefail
list=$(cd "$(dirname "$0")" && pwd)/zig.txt

sum=$(sha256sum <"$list")
cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect
folder=$cache/zig-${sum:0:16}
if [ ! -d "$folder" ]; then
  python3 -m pip --version >/dev/null 2>&1 || { echo "deps: no Zig: there is no pip here to fetch it with" >&2; exit 77; }
  echo "deps: fetching Zig with pip into $folder" >&2
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  if ! python3 -m pip install --require-hashes --only-binary :all: --no-deps --disable-pip-version-check \
    --root-user-action=ignore --retries 1 --target "$fresh" -r "$list" </dev/null >"$fresh/log" 2>&1; then
    cat "$fresh/log" >&2
    if grep -q 'DO NOT MATCH THE HASHES' "$fresh/log"; then
      echo "deps: pip gave something else than deps/zig.txt names" >&2
      exit 1
    fi
    echo "deps: no Zig: pip could not fetch it, for the reason above" >&2
    exit 77
  fi
  # "zig cc" finds its cache by this, without a variable in the environment of its caller.
  cat >"$fresh/zig" <<'PROGRAM'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
: "${ZIG_GLOBAL_CACHE_DIR:=$here/cache}"
export ZIG_GLOBAL_CACHE_DIR
exec "$here/ziglang/zig" "$@"
PROGRAM
  chmod +x "$fresh/zig"
  mv -T "$fresh" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
fi
echo "$folder/zig"
