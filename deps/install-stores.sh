#!/usr/bin/env bash
# Fetches a server of objects from its package registry, for test/stores/packaged.sh, and prints the folder
# that its packages are in:
#
#   install-stores.sh moto|s3proxy|s3mock|azurite
#
# moto comes from PyPI with pip, Azurite from npm, the others from Maven Central with mvn. deps/stores
# names the versions. One checksum below covers all files of a server; those of Azurite's packages are
# in its lock file, of which the checksum is. They live in the user's cache
# ($XDG_CACHE_HOME/s3lect, else ~/.cache/s3lect); fetched once, they are there at once.
# Exit 77: it cannot be had here (no pip, npm or mvn, no network), and says so.
set -euo pipefail
stores=$(cd "$(dirname "$0")" && pwd)/stores

# sha256sum of the output of "sha256sum *" in the folder of what was fetched.
declare -A sums=(
  [moto]=e8e7af43832a4457f6e1f4ba6425fea92dbbaa338ac0f87d047bed3bd4204449
  [s3proxy]=6fcd62aca1bbf062a90f40332913708df5035c7b444e9ee3dc40c81115cb2d43
  [azurite]=50b43d5b4a870e283a2476aff6f2b345754741742534f7553d557b7886ee81fc
  [s3mock]=ee74c1c67c97a799004969a39f640eba0e67b4250798843b23107cc937a983b0
)
name=${1:-} sum=${sums[${1:-}]:-}
[ -n "$sum" ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }

say() { echo "deps: $*" >&2; }

skip() {
  say "no $name: $*"
  exit 77
}

fetch() { # INTO
  case "$name" in
    moto)
      python3 -m pip download --only-binary :all: --no-deps --disable-pip-version-check --retries 1 -d "$1" \
        -r "$stores/moto.txt"
      ;;
    azurite)
      cp "$stores/azurite/package.json" "$stores/azurite/package-lock.json" "$1"
      npm --prefix "$1" ci --ignore-scripts --no-audit --no-fund --no-update-notifier --prefer-offline --fetch-retries=1
      ;;
    *)
      mvn -B -ntp -C -f "$stores/$name.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DoutputDirectory="$1" -DincludeScope=runtime
      ;;
  esac
}

cache=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/s3lect
folder=$cache/$name-${sum:0:16}
if [ ! -d "$folder" ]; then
  tool=mvn
  if [ "$name" = moto ]; then
    tool="python3 -m pip"
    [ "$(python3 -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null)-$(uname -sm)" = "3 11-Linux x86_64" ] ||
      skip "its packages are named for Python 3.11 on Linux and x86_64"
  fi
  if [ "$name" = azurite ]; then
    tool=npm
    [ "$(sha256sum <"$stores/azurite/package-lock.json")" = "$sum  -" ] || { say "the lock file has another checksum"; exit 1; }
  fi
  $tool --version >/dev/null 2>&1 || skip "there is no $tool here to fetch it with"
  say "fetching $name with $tool into $folder"
  mkdir -p "$cache"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  mkdir "$fresh/files"
  if ! fetch "$fresh/files" </dev/null >"$fresh/log" 2>&1; then
    tail -n 20 "$fresh/log" >&2
    skip "$tool could not fetch it, for the reason above"
  fi
  fetched=$sum # npm compares each package with the lock file
  [ "$name" = azurite ] || fetched=$(cd "$fresh/files" && LC_ALL=C && sha256sum ./* | sha256sum)
  if [ "${fetched%% *}" != "$sum" ]; then
    say "$tool gave something else than deps/stores names: ${fetched%% *}"
    exit 1
  fi
  if [ "$name" = moto ]; then
    python3 -m pip install -q --no-index --no-deps --disable-pip-version-check --root-user-action=ignore \
      --target "$fresh/lib" "$fresh"/files/*.whl >&2
  else
    mv "$fresh/files" "$fresh/lib"
  fi
  mv -T "$fresh/lib" "$folder" 2>/dev/null || [ -d "$folder" ] # another one was quicker
fi
echo "$folder"
