#!/usr/bin/env bash
# Has TypeScript check the package's types and what test/types.ts does with them, as a program of
# CommonJS and for a bundler. Exit 77: skipped, with the reason printed.
set -euo pipefail
test=$(cd "$(dirname "$0")" && pwd)
node=$1
PATH=$(dirname "$node"):$PATH
typescript=$("$test/../../../deps/install-typescript.sh") # which says why there is none

check() { # OPTION...
  "$node" "$typescript/node_modules/typescript/bin/tsc" --noEmit --strict --target es2022 \
    --lib es2022,esnext.disposable --typeRoots "$typescript/node_modules/@types" --types node "$@" "$test/types.ts"
}
check --module node16 --moduleResolution node16
check --module esnext --moduleResolution bundler
