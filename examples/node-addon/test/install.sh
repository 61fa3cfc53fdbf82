#!/usr/bin/env bash
# What a user does for whose machine the package contains no binary: install.sh NODE SCRATCH
# Packs it, installs the tarball in an empty folder, without a network, which compiles it, and elects.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
test=$(cd "$(dirname "$0")" && pwd)
node=$1 scratch=$2

rm -rf "$scratch"
mkdir -p "$scratch/user/locks"
tarball=$("$test/pack.sh" "$node" "$scratch")
PATH=$(dirname "$node"):$PATH
export npm_config_cache=$scratch/cache npm_config_update_notifier=false npm_config_audit=false \
  npm_config_fund=false npm_config_offline=true HOME=$scratch CFLAGS=-O0
tar -tzf "$tarball" | sort >"$scratch/files"
for file in README.md LICENSE index.js index.d.ts build.js lib/elector.js native/exports.map \
  vendor/src/elector/elector.c vendor/src/store/s3/store.c vendor/include/s3lect.h vendor/llhttp/LICENSE vendor/jsmn/LICENSE vendor/headers/LICENSE \
  vendor/headers/uv/unix.h vendor/headers/openssl/ssl.h vendor/headers/node_api.h example/cron.js; do
  grep -q -x "package/$file" "$scratch/files" || { echo "$file is not in the package" >&2; exit 1; }
done
if grep -E '/(test|build)/|src/cli/|CMakeLists|pack\.js|prebuild\.js' "$scratch/files"; then
  echo "is in the package, and should not be" >&2
  exit 1
fi

cd "$scratch/user"
npm install --foreground-scripts "$tarball" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }

# The example, from where it was installed, and without the package's own folder in sight.
mkfifo "$scratch/out"
CRON_LEADER_TIMEOUT_MS=2500 CRON_ID=a "$node" node_modules/s3lect/example/cron.js "file://$PWD/locks/cron.json" \
  '@every 50ms' sh -c 'echo "fired, epoch $S3LECT_EPOCH"' >"$scratch/out" &
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT
fired=false
while read -r line; do
  echo "$line"
  if ! $fired && [[ $line == fired,* ]]; then
    fired=true
    kill -TERM "$pid"
  fi
done <"$scratch/out"
wait "$pid"
trap - EXIT
$fired || { echo "no job has been run" >&2; exit 1; }

# What goes wrong says what to do.
says() { # TEXT COMMAND...
  if "${@:2}" >"$scratch/log" 2>&1 || ! grep -qF -- "$1" "$scratch/log"; then
    echo "should have failed, with \"$1\": ${*:2}" >&2
    cat "$scratch/log" >&2
    exit 1
  fi
}
addon=node_modules/s3lect/build/Release/s3lect.node
builds() { env npm_config_build_from_source=true "$@" "$node" node_modules/s3lect/build.js; }
says 'no C compiler "no-such-cc": install one' builds CC=no-such-cc
says 'false has failed (1), see above' builds CC=false
env CC=false "$node" node_modules/s3lect/build.js # which has nothing to do
# A compiler that makes what no machine can load.
printf '#!/bin/sh\nfor file; do :; done\necho "of no machine" >"$file"\n' >compiler
chmod +x compiler
says 'it was built, and this Node cannot load it: Error: ' builds "CC=$PWD/compiler"
says 's3lect: build/Release/s3lect.node does not fit this Node' "$node" -e 'require("s3lect")'
rm "$addon"
says 's3lect: its native part is not there, and the package contains none for ' "$node" -e 'require("s3lect")'
says 'npm approve-scripts s3lect' "$node" -e 'require("s3lect")'
rm -rf "$scratch"
