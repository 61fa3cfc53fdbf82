#!/usr/bin/env bash
# Runs the test that docs/testing.md shows for Node.js: page.sh NODE
# S3LECT_NODE_ADDON names the addon.
set -euo pipefail

node=$1
package=$(cd "$(dirname "$0")/.." && pwd)
blocks=$package/../../test/docs/blocks.sh page=$package/../../docs/testing.md
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-node-page.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/node_modules" "$dir/bin"
ln -s "$package" "$dir/node_modules/s3lect"
ln -s "$(command -v "$node")" "$dir/bin/node"
"$blocks" "$page" node-addon-page file >"$dir/worker.test.js"
cd "$dir"
PATH=$dir/bin:$PATH bash -e -c "$("$blocks" "$page" node-addon-page run)"
