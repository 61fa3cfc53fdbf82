#!/usr/bin/env bash
# The binaries in the package: prebuilt.sh NODE SCRATCH FAKES3 TARGET...
#
# Packs the package with binaries for these targets and installs the tarball in an empty folder, without a network,
# install scripts or a compiler. Each binary holds an election over real sockets, in a Node of its machine and libc
# (deps/install-node.sh); linux-x64-glibc also in the oldest Node that the package supports, and linux-x64-musl also
# passes the tests of the package. Each needs no newer glibc than it promises, and nothing but it and Node; it is the file
# that provenance.json describes. With several targets, the command there makes the first one again in another folder.
# The targets linux-x64 and linux-arm64 are the command s3lect, as static programs.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
test=$(cd "$(dirname "$0")" && pwd)
deps=$test/../../../deps
node=$1 scratch=$2 fakes3=$3
shift 3

fail() {
  echo "$*" >&2
  exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch/user" "$scratch/bin"
tarball=$("$test/pack.sh" "$node" "$scratch" "$@")

# All programs that npm needs; none of them compiles.
for name in node npm npx sh env uname readlink dirname; do
  program=$(command -v "$name")
  [ "$name" != node ] || program=$node
  printf '#!%s\nexec %q "$@"\n' "$BASH" "$program" >"$scratch/bin/$name"
  chmod +x "$scratch/bin/$name"
done
user() { # FOLDER COMMANDS
  (cd "$1" && env -i PATH="$scratch/bin" HOME="$scratch" npm_config_offline=true npm_config_cache="$scratch/cache" \
    npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false "$BASH" -e -c "$2" >"$scratch/log" 2>&1)
}
must() {
  "$@" || { cat "$scratch/log" >&2; exit 1; }
}
page() { # TEST PART: the commands of docs/deploy.md
  "$test/../../../test/docs/blocks.sh" "$test/../../../docs/deploy.md" "$@"
}
cp "$tarball" "$scratch/user"
must user "$scratch/user" "$(page node-addon-prebuilt install)"
package=$scratch/user/node_modules/s3lect
cp "$test/contest.js" "$scratch/user"
echo "export { Elector } from 's3lect';" >"$scratch/user/module.mjs"

# ---- The files ----

cd "$package"
described() { # FIELD [FILE]: a field of provenance.json, or of a binary in it
  "$node" -p 'const [, provenance, field, file] = process.argv;
    const text = JSON.parse(fs.readFileSync(provenance));
    (file ? text.binaries.find((binary) => binary.file === file) : text)[field]' "$package/prebuilds/provenance.json" "$@"
}
[ "$(described sources)  -" = "$(eval "$(described sourcesCommand)")" ] || fail "provenance.json is of other sources"
addons=() commands=()
for target; do
  file=prebuilds/$target/s3lect
  if [ -e "$file" ]; then
    commands+=("$target")
  else
    file+=.node
    addons+=("$target")
  fi
  [ "$(described sha256 "$file")  $file" = "$(sha256sum "$file")" ] || fail "$file is another than provenance.json says"
  needed=$(readelf -dW "$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | tr '\n' ' ')
  symbols=$(readelf --dyn-syms -W "$file")
  newest=$(grep -oE 'GLIBC_[0-9.]+' <<<"$symbols" | sort -uV | tail -n 1 || true)
  case "$target" in
    linux-x64 | linux-arm64)
      ! readelf -lW "$file" | grep -q INTERP || fail "$file is not static"
      echo "$target: $(stat -c %s "$file") bytes"
      continue
      ;;
    *-glibc) [ "$(printf 'GLIBC_2.28\n%s\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] ||
      fail "$file needs $newest" ;;
    *) [ -z "$newest" ] || fail "$file needs $newest" ;;
  esac
  [[ $needed =~ ^(libc\.so(\.6)?\ |ld-linux[a-z0-9_.-]*\ )*$ ]] || fail "$file needs $needed"
  [ "$(awk '$5 == "GLOBAL" && $7 != "UND" { print $8 }' <<<"$symbols")" = napi_register_module_v1 ] ||
    fail "$file has more symbols than Node looks up: $symbols"
  echo "$target: $(stat -c %s "$file") bytes, needs $needed${newest:+up to $newest}"
done
if [ $# -gt 1 ]; then # it takes its time
  file=prebuilds/$1/s3lect.node
  command=$(described command "$file")
  zig() { ZIG_LOCAL_CACHE_DIR=$scratch/zig "$("$deps/install-zig.sh")" "$@"; }
  mkdir -p "$scratch/again/$(dirname "$file")"
  cp -a native vendor "$scratch/again"
  (cd "$scratch/again" && eval "$command")
  cmp "$scratch/again/$file" "$file" || fail "the command in provenance.json makes another $file"
fi

# ---- Elections ----

cd "$scratch/user"
mkfifo "$scratch/ready"
"$fakes3" --port 0 --die-with-parent >"$scratch/ready" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT
read -r endpoint <"$scratch/ready"
contest() { # NODE NAME
  "$1" contest.js "$endpoint" | tee "$scratch/log"
  grep -q ': led: cjs esm worker$' "$scratch/log" || fail "no election in $2"
}
for target in "${addons[@]}"; do
  program=$node
  [ "$target" = linux-x64-glibc ] || program=$("$deps/install-node.sh" "$target")/bin/node
  contest "$program" "$target"
done
[[ " $* " != *" linux-x64-glibc "* ]] || contest "$("$deps/install-node.sh" oldest)/bin/node" "the oldest Node"

# All tests of the package with musl, but those of its files. There Node's own path is that of musl's loader.
if [[ " $* " == *" linux-x64-musl "* ]]; then
  musl=$("$deps/install-node.sh" linux-x64-musl)/bin/node
  echo 'process.execPath = process.env.NODE;' >"$scratch/path.js"
  for file in "$test"/*.test.js; do
    [ "${file##*/}" = package.test.js ] || NODE=$musl S3LECT_FAKES3=$fakes3 \
      S3LECT_NODE_ADDON=$package/prebuilds/linux-x64-musl/s3lect.node "$musl" -r "$scratch/path.js" "$file" \
      >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "${file##*/} with musl"; }
  done
fi

# ---- The command ----

for target in "${commands[@]}"; do
  program=$package/prebuilds/$target/s3lect
  [ "$target" != linux-arm64 ] || program="$("$deps/install-node.sh" linux-arm64-musl)/root/usr/bin/qemu-aarch64 $program"
  [ "$($program --version)" = "$(described package)" ] || fail "$target: --version"
done
if [ -e "$package/prebuilds/linux-x64/s3lect" ]; then
  must user "$scratch/user" "$(page node-addon-prebuilt-all command)"
  grep -q 'without a leader' "$scratch/log" || fail "s3lect plan has printed: $(cat "$scratch/log")"
else
  ! user "$scratch/user" "npx s3lect plan" || fail "npx s3lect has started something"
  must grep -q 'the package contains no command for linux-x64' "$scratch/log"
fi

# ---- The install script ----

# It leaves a package alone that loads. The binary in the package also stands in for one that was built, and came here
# with a folder from another machine.
if [[ " $* " == *" linux-x64-glibc "* ]]; then
  mkdir "$scratch/scripts"
  must user "$scratch/scripts" "npm install --foreground-scripts $tarball"
  package=$scratch/scripts/node_modules/s3lect
  [ ! -e "$package/build" ] || fail "the install script has built what was there already"
  mkdir -p "$package/build/Release"
  echo "of another machine" >"$package/build/Release/s3lect.node"
  "$node" -e 'require(process.argv[1])' "$package"
fi
rm -rf "$scratch"
