#!/usr/bin/env bash
# Packs the package as a release does, and prints the tarball: pack.sh NODE SCRATCH [TARGET...]
# By the commands of docs/deploy.md, but with binaries for these targets only. From a copy of the sources in SCRATCH:
# packing writes into the folder, which may be read-only or in use. Exit 77: skipped, with the reason printed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
node=$1 scratch=$2
shift 2
PATH=$(dirname "$node"):$PATH
command -v npm >/dev/null || { echo "skipped: no npm here" >&2; exit 77; }
export npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false

"$root/deps/install-node.sh" oldest >/dev/null
[ $# -eq 0 ] || "$root/deps/install-zig.sh" >/dev/null

source=$scratch/source targets=("$@")
npm() {
  if [ "$*" != "run prebuild" ]; then
    command npm "$@"
  elif [ ${#targets[@]} -gt 0 ]; then
    command npm run --silent prebuild -- "${targets[@]}"
  fi
}
mkdir "$source"
tar -C "$root" --exclude='./build*' --exclude=./.git --exclude=./examples/node-addon/{build,prebuilds} -c . | tar -C "$source" -x
commands=$("$root/test/docs/blocks.sh" "$root/docs/deploy.md" node-addon-prebuilt pack)
cd "$source"
exec 3>&2
trap 'cat "$scratch/packed" >&3' EXIT
eval "$commands" >"$scratch/packed" 2>&1
trap - EXIT
[ ! -e vendor ] && [ ! -e options.d.ts ] || { echo "vendor/ or options.d.ts was left behind" >&2; exit 1; }
mv s3lect-*.tgz "$scratch"
cd "$scratch"
rm -rf "$source"
echo "$scratch"/s3lect-*.tgz
