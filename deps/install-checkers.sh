#!/usr/bin/env bash
# Fetches what files of the repository are checked with, and prints the folder that it is in:
#
#   install-checkers.sh kubernetes    kubernetes-validate, the schemas of Kubernetes, from PyPI with pip
#   install-checkers.sh cert-manager  the schemas of cert-manager's objects, from npm
#   install-checkers.sh typescript    TypeScript and the types of Node.js, from npm, for examples/node-addon/index.d.ts
#   install-checkers.sh actionlint    the checker of GitHub's workflows, a Go module, with go
#
# Versions and checksums are those of the lock file in deps/checkers/NAME. It lives in the user's cache
# ($XDG_CACHE_HOME/s3lect, else ~/.cache/s3lect); fetched once, it is there at once.
# Exit 77: it cannot be had here (no pip, npm or go, no network), and says so.
set -euo pipefail
checkers=$(cd "$(dirname "$0")" && pwd)/checkers

name=${1:-}
case "$name" in
  kubernetes) tool=pip lock=requirements.txt command=(python3 -m pip --version) ;;
  cert-manager | typescript) tool=npm lock=package-lock.json command=(npm --version) ;;
  actionlint) tool=go lock=go.sum command=(go version) ;;
  *) sed -n '4,7s/^# *//p' "$0" >&2; exit 2 ;;
esac
locked=$checkers/$name

fetch() { # into the current folder
  case "$tool" in
    pip)
      python3 -m pip install --require-hashes --only-binary :all: --disable-pip-version-check --retries 1 \
        --root-user-action=ignore --target . -r "$locked/$lock"
      ;;
    npm)
      cp "$locked/package.json" "$locked/$lock" .
      npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --prefer-offline --fetch-retries=1
      ;;
    go)
      cp "$locked/go.mod" "$locked/$lock" .
      GOFLAGS=-mod=readonly go build -o actionlint github.com/rhysd/actionlint/cmd/actionlint
      ;;
  esac
}

sum=$(sha256sum <"$locked/$lock")
cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect
folder=$cache/$name-${sum:0:16}
if [ ! -d "$folder" ]; then
  "${command[@]}" >/dev/null 2>&1 || { echo "deps: no $name: there is no $tool here to fetch it with" >&2; exit 77; }
  echo "deps: fetching $name with $tool into $folder" >&2
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  mkdir "$fresh/files"
  if ! (cd "$fresh/files" && fetch </dev/null >"$fresh/log" 2>&1); then
    tail -n 20 "$fresh/log" >&2
    # Not what was asked for, as pip, npm and go say it.
    if grep -qE 'DO NOT MATCH|EINTEGRITY|EUSAGE|SECURITY ERROR|checksum mismatch|missing go.sum' "$fresh/log"; then
      echo "deps: $tool gave something else than deps/checkers/$name/$lock names" >&2
      exit 1
    fi
    echo "deps: no $name: $tool could not fetch it, for the reason above" >&2
    exit 77
  fi
  mv -T "$fresh/files" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
fi
echo "$folder"
