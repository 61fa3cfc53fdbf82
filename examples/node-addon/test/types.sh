#!/usr/bin/env bash
# Has TypeScript check the package's types and what test/types.ts does with them, as a program of
# CommonJS and for a bundler. Exit 77: skipped, with the reason printed.
set -euo pipefail
test=$(cd "$(dirname "$0")" && pwd)
node=$1
PATH=$(dirname "$node"):$PATH
typescript=$("$test/../../../deps/install-typescript.sh") # which says why there is none

check() { # OPTION-OR-FILE...
  "$node" "$typescript/node_modules/typescript/bin/tsc" --noEmit --strict --target es2022 \
    --lib es2022,esnext.disposable --typeRoots "$typescript/node_modules/@types" --types node "$@"
}
# The types as the package has them, with options.d.ts.
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-types.XXXXXX")
trap 'rm -rf "$dir"' EXIT
package=$dir/node_modules/s3lect
mkdir -p "$package"
cp "$test/../package.json" "$test/../index.d.ts" "$package"
"$node" "$test/../option-types.js" >"$package/options.d.ts"
cp "$test/types.ts" "$dir"
check --module node16 --moduleResolution node16 --preserveSymlinks "$dir/types.ts"
check --module esnext --moduleResolution bundler "$dir/types.ts"

# What the pages show in JavaScript: each block with what it takes for granted declared before it.
awk -v dir="$dir" '/^```js$/ { file = dir "/block" ++n ".js"; next } /^```$/ { file = ""; next }
  file != "" { print >file }' "$test/../README.md"
count=0
for block in "$dir"/block*.js; do
  {
    grep -q "require('s3lect')" "$block" || echo "import { Elector, S3Store } from 's3lect';"
    grep -q 'const elector =' "$block" || echo "declare const elector: import('s3lect').Elector;"
    grep -q 'const store =' "$block" || echo "declare const store: import('s3lect').S3Store;"
    cat <<'DECLARATIONS'
declare const certFile: string, keyFile: string, caFile: string, shards: string[];
declare const vault: { lease(): Promise<{ key: string; secret: string; token: string; until: Date }> };
declare function work(epoch: bigint, signal: AbortSignal): void;
declare function makeReports(of: { epoch: bigint; signal: AbortSignal }): Promise<void>;
DECLARATIONS
    sed -E "s/^const (\{.*\}) = require\('s3lect'\);/import \1 from 's3lect';/" "$block"
  } >"${block%.js}.mts"
  count=$((count + 1))
done
[ "$count" -gt 3 ] || { echo "the pages show $count blocks of JavaScript only" >&2; exit 1; }
check --module nodenext --preserveSymlinks "$dir"/block*.mts
echo "$count blocks of JavaScript in pages"
