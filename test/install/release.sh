#!/usr/bin/env bash
# packaging/release.sh lets a right release pass, and refuses each mismatch: release.sh CC [build]
#
# On a copy of the repository that is a release, with a release before it; and on packages made by hand.
# With "build", it builds all packages of that release instead.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

export CC=$1
cd "$root"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: not a git work tree"; exit 77; }
for tool in perl dpkg-deb readelf; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-release.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/copy"
git ls-files -z | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$dir/copy"
cd "$dir/copy"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.com
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.com
version=$(sed -n 's/^project(s3lect VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
today=$(date -u +%F)

# What a maintainer does before a release.
sed -i "0,/^## .*/s//## [$version] - $today/" CHANGELOG.md
sed -i "s/^\.Dd .*/.Dd $(LC_ALL=C date -u '+%B %-d, %Y')/" docs/make/s3lect.1.in
test/abi/layout.sh write "$CC" >/dev/null
git init -q .
git add -A
git commit -q -m "a release"
git tag v0.0.1

if [ "${2:-}" = build ]; then
  command -v npm >/dev/null || { echo "skipped: no npm here"; exit 77; }
  deps/install-cross.sh amd64 >/dev/null || { echo "skipped: no libraries to build the static command with"; exit 77; }
  deps/install-zig.sh >/dev/null || { echo "skipped: no Zig to build the Node package's binaries with"; exit 77; }
  packaging/release.sh check "v$version"
  packaging/release.sh build "$dir/packages"
  ls "$dir/packages"
  exit 0
fi

count=0
passes() { # WHAT COMMAND...
  "${@:2}" >"$dir/out" 2>&1 || { echo "refused: $1"; cat "$dir/out"; exit 1; }
  count=$((count + 1))
}
refused() { # SAYING WHAT COMMAND...
  ! "${@:3}" >"$dir/out" 2>&1 || { echo "not noticed: $2"; exit 1; }
  grep -q -F -e "$1" "$dir/out" || { echo "noticed, but not told: $2"; cat "$dir/out"; exit 1; }
  count=$((count + 1))
}
broken() { # SAYING FILE SED
  sed -i -E -e "$3" "$2"
  ! git diff --quiet || { echo "changes nothing in $2: $3"; exit 1; }
  refused "$1" "$2: $3" packaging/release.sh check
  git checkout -q .
}

passes "a right one" packaging/release.sh check "v$version"
refused "the tag is v9.9.9" "another tag" packaging/release.sh check v9.9.9
broken "version.h, by its numbers, says $version" CMakeLists.txt 's/(s3lect VERSION) [0-9.]+/\1 9.9.9/'
broken "not three numbers" CMakeLists.txt 's/(s3lect VERSION) [0-9.]+/\1 9.9/'
broken 'by its numbers' include/s3lect/version.h 's/(MINOR) .*/\1 99/'
broken 'S3LECT_VERSION_STRING, says 9' include/s3lect/version.h 's/(STRING) .*/\1 "9.9.9"/'
broken 'package.json says 9' examples/node-addon/package.json 's/("version":) .*/\1 "9.9.9",/'
broken 's3lect says 9.9.9' examples/kubernetes/sidecar.yaml 's/(s3lect:)[0-9.]+/\19.9.9/'
broken "begins with '## [Unreleased]'" CHANGELOG.md '0,/^## .*/s//## [Unreleased]/'
broken 'CHANGELOG.md says 9' CHANGELOG.md '0,/^## .*/s//## [9.9.9] - 2020-01-01/'
broken 'says nothing about' CHANGELOG.md "0,/^## .*/s//## [$version] - $today\n\n## [0.0.1] - 2020-01-01/"
broken 'after today' CHANGELOG.md '0,/^(## .*) - .*/s//\1 - 2999-01-01/'
broken 's3lect.1.in has the date January' docs/make/s3lect.1.in 's/^\.Dd .*/.Dd January 1, 2020/'
broken 'not complete' test/abi/layout.inc '/^SIZE\(s3lect_store_t,/d'
broken 'layout.inc lacks what v0.0.1 promised' test/abi/layout.inc 's/^(SIZE\(s3lect_store_t,).*/\1 1)/'
broken 'symbols lacks what v0.0.1 promised' src/s3lect.symbols '/^s3lect_elector_epoch$/d'
broken 'not committed' README.md '1s/$/ /'
git rm -q --cached test/abi/layout.inc
mv test/abi/layout.inc "$dir"
refused 'layout.inc is missing' "no layout" packaging/release.sh check
mv "$dir/layout.inc" test/abi
git add test/abi/layout.inc
git commit -q --allow-empty -m "another one"
git tag v99.0.0
refused "$version is older than v99.0.0" "an older version" packaging/release.sh check
git tag -d v99.0.0 >/dev/null
passes "notes" packaging/release.sh notes
! grep -q '^## ' "$dir/out" && [ -s "$dir/out" ] || { echo "the notes are not one entry"; exit 1; }

# --- packages ---

make_deb() { # PACKAGE VERSION [SONAME]
  local tree=$dir/tree
  rm -rf "$tree"
  mkdir -p "$tree/DEBIAN" "$tree/usr/lib"
  printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n' \
    "$1" "$2" >"$tree/DEBIAN/control"
  if [ -n "${3:-}" ]; then
    echo 'int s3lect;' | "$CC" -shared -fPIC -x c - -Wl,-soname,"$3" -o "$tree/usr/lib/libs3lect.so.$2"
  fi
  dpkg-deb --root-owner-group -b "$tree" "$packages/$1_${version}_all.deb" >/dev/null
}
make_node() { # VERSION [WITHOUT]
  local file
  rm -rf "$dir/node"
  for file in linux-{x64,arm64}-{glibc,musl}/s3lect.node linux-{x64,arm64}/s3lect; do
    mkdir -p "$dir/node/package/prebuilds/${file%/*}"
    [ "$file" = "${2:-}" ] || : >"$dir/node/package/prebuilds/$file"
  done
  printf '{\n  "name": "s3lect",\n  "version": "%s",\n}\n' "$1" >"$dir/node/package/package.json"
  tar -czf "$packages/s3lect-node-$version.tgz" -C "$dir/node" package
}
make_static() { # VERSION [CC-OPTION]: for both machines; the second by its header only
  printf '#include <stdio.h>\nint main(void) { return puts("s3lect %s") < 0; }\n' "$1" |
    "$CC" -x c "${2:--static}" - -o "$packages/s3lect-$version-linux-$machine"
  cp "$packages/s3lect-$version-linux-$machine" "$packages/s3lect-$version-linux-$other"
  printf '%b' "$code" | dd of="$packages/s3lect-$version-linux-$other" bs=1 seek=18 conv=notrunc status=none
}
case $(dpkg --print-architecture) in
  amd64) machine=amd64 other=arm64 code='\xb7' ;;
  arm64) machine=arm64 other=amd64 code='\x3e' ;;
  *) echo "skipped: static commands are for amd64 and arm64"; exit 77 ;;
esac
packages=$dir/packages major=${version%%.*}
verify() { packaging/release.sh verify "$packages"; }

mkdir "$packages"
refused 'there is nothing' "no packages" verify
rmdir "$packages"
passes "the source" packaging/release.sh build "$packages" source
make_deb s3lect "$version"
make_deb "libs3lect$major" "$version" "libs3lect.so.$major"
make_node "$version"
refused 'lacks the Debian package libs3lect-dev' "a package less" verify
make_deb libs3lect-dev "$version"
refused 'lacks the static command for arm64' "no static commands" verify
make_static "$version"
passes "sums" packaging/release.sh sums "$packages"
passes "right packages" verify
make_node 9.9.9
refused "s3lect-node-$version.tgz says 9.9.9" "Node's version" verify
refused 'SHA256SUMS is of other files' "old sums" verify
make_node "$version" linux-arm64-musl/s3lect.node
refused 'has no linux-arm64-musl/s3lect.node' "a binary less" verify
make_node "$version" linux-x64/s3lect
refused 'has no linux-x64/s3lect' "a command less" verify
make_node "$version"
packaging/release.sh sums "$packages"
make_static 9.9.9
refused "linux-$machine says 9.9.9" "a static command's version" verify
make_static "$version" -O1
refused "linux-$machine is not static" "a dynamic command" verify
make_static "$version"
cp "$packages/s3lect-$version-linux-$machine" "$packages/s3lect-$version-linux-$other"
refused "linux-$other is not for" "a command for another machine" verify
make_static "$version"
make_deb s3lect 9.9.9
refused "s3lect_${version}_all.deb says 9.9.9" "Debian's version" verify
make_deb s3lect "$version"
make_deb "libs3lect$major" "$version" libs3lect.so.99
refused "and has 'libs3lect.so.99'" "another soname" verify
make_deb "libs3lect$major" "$version"
refused "and has ''" "no library" verify
make_deb "libs3lect$major" "$version" "libs3lect.so.$major"
make_deb libs3lect99 "$version"
refused 'another soname than' "a package of another soname" verify
rm "$packages/libs3lect99_${version}_all.deb"
cp "$packages/s3lect-$version.tar.gz" "$packages/s3lect-9.9.9.tar.gz"
refused 'is no package of' "another version's source" verify
rm "$packages/s3lect-9.9.9.tar.gz"
mv "$packages/s3lect-$version.tar.gz" "$dir"
refused 'lacks the source' "no source" verify
mv "$dir/s3lect-$version.tar.gz" "$packages"
tar -czf "$packages/s3lect-$version.tar.gz" CMakeLists.txt
refused "s3lect-$version.tar.gz says nothing" "a source without its folder" verify
echo "$count releases, right and wrong"
