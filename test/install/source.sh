#!/usr/bin/env bash
# Does what docs/deploy.md says on building from source, on a copy of this machine: source.sh VERSION
# Exit 77: skipped, with the reason printed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

version=$1
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: not a git work tree"; exit 77; }
command -v sudo >/dev/null || { echo "skipped: no sudo here, which the page uses"; exit 77; }
install=$(test/docs/blocks.sh docs/deploy.md install-source install)
remove=$(test/docs/blocks.sh docs/deploy.md install-source remove)

# The page begins in a clone.
git ls-files -z | tar -c --null -T - | "$here/on-copy.sh" bash -euo pipefail -c '
  mkdir /tmp/s3lect
  cd /tmp/s3lect
  tar -x
  bash -e -c "$1" </dev/null >log 2>&1 || { cat log; exit 1; }
  installed=$(s3lect --version)
  [ "$installed" = "s3lect $3" ] || { echo "installed is $installed"; exit 1; }
  cp build/install/install_manifest.txt manifest
  bash -e -c "$2" </dev/null >log 2>&1 || { cat log; exit 1; }
  while read -r file; do
    [ ! -e "$file" ] || { echo "not removed: $file"; exit 1; }
  done <manifest
  echo "$(wc -l <manifest) files came and went"' - "$install" "$remove" "$version"
