#!/usr/bin/env bash
# Fetches the TypeScript compiler and the types of Node.js with npm, to check the package's own types
# (examples/node-addon/index.d.ts) with, and prints the folder that node_modules is in.
# Versions and checksums are those of deps/typescript/package-lock.json. It lives in the user's cache
# ($XDG_CACHE_HOME/s3lect, else ~/.cache/s3lect); fetched once, it is there at once.
# Exit 77: it cannot be had here (no npm, no network), and says so.
set -euo pipefail
lock=$(cd "$(dirname "$0")" && pwd)/typescript

sum=$(sha256sum <"$lock/package-lock.json")
cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect
folder=$cache/typescript-${sum:0:16}
if [ ! -d "$folder" ]; then
  command -v npm >/dev/null || { echo "deps: no TypeScript: there is no npm here to fetch it with" >&2; exit 77; }
  echo "deps: fetching TypeScript with npm into $folder" >&2
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  cp "$lock/package.json" "$lock/package-lock.json" "$fresh/"
  # "ci" takes what the lock file names, or nothing; no script of a package is run.
  if ! (cd "$fresh" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --prefer-offline \
    --fetch-retries=1 --fetch-retry-mintimeout=1000 </dev/null >log 2>&1); then
    cat "$fresh/log" >&2
    # Not what was asked for (EINTEGRITY), or a lock file that does not fit its package.json (EUSAGE).
    if grep -qwE 'EINTEGRITY|EUSAGE' "$fresh/log"; then
      echo "deps: npm gave something else than deps/typescript/package-lock.json names" >&2
      exit 1
    fi
    echo "deps: no TypeScript: npm could not fetch it, for the reason above" >&2
    exit 77
  fi
  mv -T "$fresh" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
fi
echo "$folder"
