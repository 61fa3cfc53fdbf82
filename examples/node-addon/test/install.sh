#!/usr/bin/env bash
# What a user of the package does: install.sh NODE SCRATCH
# Packs it, installs the tarball in an empty folder, without a network, and elects.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
package=$(cd "$(dirname "$0")/.." && pwd)
node=$1 scratch=$2
PATH=$(dirname "$node"):$PATH
command -v npm >/dev/null || { echo "skipped: no npm here"; exit 77; }

rm -rf "$scratch"
mkdir -p "$scratch/user/locks"
export npm_config_cache=$scratch/cache npm_config_update_notifier=false npm_config_audit=false \
  npm_config_fund=false npm_config_offline=true HOME=$scratch
# Packed from a copy: packing writes into the folder, which may be read-only or in use.
mkdir -p "$scratch/source/examples"
cp -a "$package/../../src" "$package/../../include" "$scratch/source/"
cp -a "$package" "$scratch/source/examples/node-addon"
rm -rf "$scratch/source/examples/node-addon/build"
(cd "$scratch/source/examples/node-addon" && npm pack --pack-destination "$scratch" >"$scratch/packed" 2>&1) ||
  { cat "$scratch/packed"; exit 1; }
[ ! -e "$scratch/source/examples/node-addon/vendor" ] || { echo "vendor/ was left behind" >&2; exit 1; }
rm -rf "$scratch/source"
tarball=$(echo "$scratch"/s3lect-*.tgz)
tar -tzf "$tarball" | sort >"$scratch/files"
for file in README.md LICENSE index.js index.d.ts build.js lib/elector.js native/exports.map \
  vendor/src/elector/elector.c vendor/src/store/s3/store.c vendor/include/s3lect.h vendor/llhttp/LICENSE vendor/jsmn/LICENSE example/cron.js; do
  grep -q -x "package/$file" "$scratch/files" || { echo "$file is not in the package" >&2; exit 1; }
done
if grep -E '/(test|build)/|src/cli/|CMakeLists' "$scratch/files"; then
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
says 'no C compiler "no-such-cc": install one' env CC=no-such-cc "$node" node_modules/s3lect/build.js
says 'false has failed (1), see above' env CC=false "$node" node_modules/s3lect/build.js
# A compiler that makes what no machine can load.
printf '#!/bin/sh\nfor file; do :; done\necho "of no machine" >"$file"\n' >compiler
chmod +x compiler
says 'it was built, and this Node cannot load it: Error: ' env CC=./compiler "$node" node_modules/s3lect/build.js
echo "of another machine" >"$addon"
says 's3lect: its native part does not fit this Node' "$node" -e 'require("s3lect")'
rm "$addon"
says 's3lect: its native part is not there' "$node" -e 'require("s3lect")'
says 'npm approve-scripts s3lect' "$node" -e 'require("s3lect")'
rm -rf "$scratch"
