#!/usr/bin/env bash
# Has TypeScript check the package's types and what test/types.ts does with them, as a program of CommonJS, as an ES
# module and for a bundler: versions 4.7, 5.9 and 7, each with types of Node of its time.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
test=$(cd "$(dirname "$0")" && pwd)
node=$1
PATH=$(dirname "$node"):$PATH
typescript=$("$test/../../../deps/install-checkers.sh" typescript) # which says why there is none

modules=$typescript/node_modules

check() { # VERSION OPTION-OR-FILE...
  "$node" "$modules/typescript$1/bin/tsc" --noEmit --strict --target es2022 --typeRoots "$dir/types$1" --types node "${@:2}"
}
# The types as the package has them, with options.d.ts.
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-types.XXXXXX")
trap 'rm -rf "$dir"' EXIT
package=$dir/node_modules/s3lect
mkdir -p "$package"
cp "$test/../package.json" "$test/../index.d.ts" "$package"
"$node" "$test/../option-types.js" >"$package/options.d.ts"
for version in "-4.7 types-node-old" " @types/node" "-7 types-node-new"; do
  mkdir "$dir/types${version% *}"
  ln -s "$modules/${version#* }" "$dir/types${version% *}/node"
done

# The same text is CommonJS in one file and an ES module in the other. "await using" is younger than 4.7.
cp "$test/types.ts" "$dir/types.ts"
sed 's/await using /const /' "$dir/types.ts" >"$dir/old.ts"
cp "$dir/types.ts" "$dir/types.mts"
cp "$dir/old.ts" "$dir/old.mts"
disposable=(--lib es2022,esnext.disposable)
check -4.7 --lib es2022 --module node16 --moduleResolution node16 "$dir"/old.{ts,mts}
for version in "" -7; do
  check "$version" "${disposable[@]}" --module node16 --moduleResolution node16 "$dir"/types.{ts,mts}
  check "$version" "${disposable[@]}" --module esnext --moduleResolution bundler "$dir/types.ts"
done

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
declare const firstLog: string, secondLog: Buffer;
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
check "" "${disposable[@]}" --module nodenext "$dir"/block*.mts
echo "$count blocks of JavaScript in pages"
