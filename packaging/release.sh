#!/usr/bin/env bash
# What makes a release of s3lect, and refuses to make a wrong one:
#
#   packaging/release.sh check [TAG]     checks the repository: version, changelog, manual page, interface
#   packaging/release.sh build DIR [source|debian|node|static]...
#                                        builds the packages into DIR (all, or the named ones), and
#                                        verifies them
#   packaging/release.sh verify DIR      checks the packages in DIR: names, versions, soname; and that none
#                                        is missing
#   packaging/release.sh sums DIR        writes DIR/SHA256SUMS
#   packaging/release.sh notes           prints what the changelog says of this version
#
# A release is made of a commit whose tag is v and its version. Before the tag: set the version in
# CMakeLists.txt, include/s3lect/version.h, examples/node-addon/package.json and examples/kubernetes,
# name version and date in CHANGELOG.md, put the date into docs/make/s3lect.1.in, and record the layout
# of the public structs (test/abi/layout.sh write cc). "check" says what is missing. Each fault is a
# line on standard error, and the exit status is then 1.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(s3lect VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
major=${version%%.*}
all=(source debian node static) # the parts of a release
faults=0

fault() {
  echo "release: $*" >&2
  faults=$((faults + 1))
}

finish() { # WHAT
  [ "$faults" -eq 0 ] || exit 1
  echo "s3lect $version: $*"
}

same() { # WHAT IS
  [ "$2" = "$version" ] || fault "$1 says ${2:-nothing}, CMakeLists.txt says $version"
}

# --- check ---

check_version() { # [TAG]
  local header=include/s3lect/version.h part number='' image
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fault "the version in CMakeLists.txt is '$version', not three numbers"
  for part in MAJOR MINOR PATCH; do
    number+=.$(sed -n "s/^#define S3LECT_VERSION_$part *//p" $header)
  done
  same "$header, by its numbers," "${number#.}"
  same "$header, S3LECT_VERSION_STRING," "$(sed -n 's/^#define S3LECT_VERSION_STRING *"\(.*\)"/\1/p' $header)"
  same examples/node-addon/package.json "$(sed -n 's/^  "version": "\(.*\)",/\1/p' examples/node-addon/package.json)"
  while IFS=: read -r image number; do
    same "$image" "$number"
  done < <(grep -ho '^ *image: .*/s3lect:.*' examples/kubernetes/*.yaml | sed 's/.*image: //' | sort -u)
  [ -z "${1:-}" ] || [ "$1" = "v$version" ] || fault "the tag is $1, which must be v$version"
}

# The newest entry of the changelog: its heading, or what is below it.
heading() { sed -n '/^## /{p;q}' CHANGELOG.md; }
entry() { awk '/^## / { n++; next } n == 1' CHANGELOG.md | sed -e '/./,$!d'; }

check_changelog() {
  local line page today
  line=$(heading)
  if ! [[ $line =~ ^'## ['([0-9.]+)'] - '([0-9]{4}-[0-9]{2}-[0-9]{2})$ ]]; then
    fault "CHANGELOG.md begins with '$line', which must be '## [$version] - YYYY-MM-DD'"
    return
  fi
  same "the newest entry of CHANGELOG.md" "${BASH_REMATCH[1]}"
  [ -n "$(entry)" ] || fault "CHANGELOG.md says nothing about $version"
  today=$(date -u +%F)
  [[ ! ${BASH_REMATCH[2]} > $today ]] || fault "CHANGELOG.md has the date ${BASH_REMATCH[2]}, which is after today"
  page=$(sed -n 's/^\.Dd //p' docs/make/s3lect.1.in)
  [ "$(LC_ALL=C date -u -d "$page" +%F 2>/dev/null)" = "${BASH_REMATCH[2]}" ] ||
    fault "docs/make/s3lect.1.in has the date $page, CHANGELOG.md has ${BASH_REMATCH[2]}"
}

# The release before this one, if it has the same soname: what it promised still holds.
check_promises() {
  local before file gone
  before=$(git describe --tags --abbrev=0 --match 'v[0-9]*' --exclude "v$version" 2>/dev/null) || return 0
  [ "$(printf '%s\n' "${before#v}" "$version" | sort -V | tail -n 1)" = "$version" ] ||
    fault "$version is older than $before"
  [[ $before == v$major.* ]] || return 0
  for file in src/s3lect.symbols test/abi/layout.inc; do
    gone=$({ git show "$before:$file" 2>/dev/null || true; } | LC_ALL=C sort | LC_ALL=C comm -23 - <(LC_ALL=C sort "$file"))
    [ -z "$gone" ] || fault "$file lacks what $before promised; only a new major version may: ${gone//$'\n'/, }"
  done
}

check_interface() {
  local out
  if [ ! -f test/abi/layout.inc ]; then
    fault "test/abi/layout.inc is missing: test/abi/layout.sh write cc"
    return
  fi
  out=$(test/abi/layout.sh check "${CC:-cc}" 2>&1) || fault "test/abi/layout.inc is not complete: ${out//$'\n'/, }"
  check_promises
}

check_tree() {
  [ -z "$(git status --porcelain --untracked-files=no)" ] || fault "files of the work tree are changed, but not committed"
}

# --- packages ---

build_source() { # DIR
  git archive --format=tar.gz --prefix="s3lect-$version/" -o "$1/s3lect-$version.tar.gz" HEAD
}

build_debian() { # DIR
  rm -rf build/debian/packages
  cmake --preset debian --log-level=WARNING >/dev/null
  cmake --build --preset debian --parallel "$(nproc)" --target package -- --quiet
  cp build/debian/packages/*.deb "$1"
}

build_node() { # DIR
  (cd examples/node-addon && npm run --if-present prebuild && npm pack --pack-destination "$1") >/dev/null
  mv "$1/s3lect-$version.tgz" "$1/s3lect-node-$version.tgz"
}

build_static() { # DIR
  local machine program
  for machine in amd64 arm64; do
    program=$(packaging/static.sh $machine | tail -n 1)
    cp "$program" "$1/s3lect-$version-linux-$machine"
  done
}

verify_source() { # FILE
  local text
  text=$(tar -xOf "$1" "s3lect-$version/CMakeLists.txt" 2>/dev/null) || text=
  same "${1##*/}" "$(sed -n 's/^project(s3lect VERSION \([0-9.]*\) .*/\1/p' <<<"$text")"
}

verify_node() { # FILE
  local files file
  same "${1##*/}" "$(tar -xOf "$1" package/package.json 2>/dev/null | sed -n 's/^  "version": "\(.*\)",/\1/p')"
  files=$(tar -tf "$1")
  for file in $(sed -n "s/^  '\(linux-[^']*\)': '.*-linux-.*/\1\/s3lect.node/p; s/^  '\(linux-[^']*\)': .*/\1\/s3lect/p" \
    examples/node-addon/prebuild.js); do
    grep -q -x "package/prebuilds/$file" <<<"$files" || fault "${1##*/} has no $file"
  done
}

verify_library() { # FILE: the package of the shared library
  local dir soname library
  dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-release.XXXXXX")
  dpkg-deb -x "$1" "$dir"
  library=$(find "$dir" -name "libs3lect.so.$version")
  soname=$([ -z "$library" ] || readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
  [ "$soname" = "libs3lect.so.$major" ] ||
    fault "${1##*/} must have libs3lect.so.$version with the soname libs3lect.so.$major, and has '$soname'"
  rm -rf "$dir"
}

verify_debian() { # FILE
  local name
  name=$(dpkg-deb -f "$1" Package)
  same "${1##*/}" "$(dpkg-deb -f "$1" Version)"
  case "$name" in
    "libs3lect$major") verify_library "$1" ;;
    libs3lect[0-9]*) fault "${1##*/} is named after another soname than $major" ;;
  esac
}

verify_static() { # FILE
  local machine=AArch64 header
  header=$(readelf -hdW "$1" 2>/dev/null || true)
  [[ $1 == *-arm64 ]] || machine=X86-64
  grep -q "Machine:.*$machine" <<<"$header" || fault "${1##*/} is not for $machine"
  ! grep -q '(NEEDED)' <<<"$header" || fault "${1##*/} is not static"
  [[ $1 != *-$(dpkg --print-architecture) ]] || same "${1##*/}" "$("$1" --version 2>/dev/null | sed -n 's/^s3lect //p')"
}

verify() { # DIR
  local file count=0
  for file in "$1"/*; do
    [ -e "$file" ] || continue
    count=$((count + 1))
    case "${file##*/}" in
      "s3lect-$version.tar.gz") verify_source "$file" ;;
      "s3lect-node-$version.tgz") verify_node "$file" ;;
      *.deb) verify_debian "$file" ;;
      "s3lect-$version-linux-amd64" | "s3lect-$version-linux-arm64") verify_static "$file" ;;
      SHA256SUMS) (cd "$1" && sha256sum --quiet -c SHA256SUMS) || fault "SHA256SUMS is of other files" ;;
      *) fault "$file is no package of $version" ;;
    esac
  done
  [ "$count" -gt 0 ] || fault "there is nothing in $1"
}

# Of the named parts, nothing is missing.
complete() { # DIR PART...
  local part name
  for part in "${@:2}"; do
    case "$part" in
      source) [ -e "$1/s3lect-$version.tar.gz" ] || fault "$1 lacks the source" ;;
      node) [ -e "$1/s3lect-node-$version.tgz" ] || fault "$1 lacks the Node package" ;;
      static)
        for name in amd64 arm64; do
          [ -e "$1/s3lect-$version-linux-$name" ] || fault "$1 lacks the static command for $name"
        done
        ;;
      debian)
        for name in s3lect "libs3lect$major" libs3lect-dev; do
          compgen -G "$1/${name}_${version}_*.deb" >/dev/null || fault "$1 lacks the Debian package $name"
        done
        ;;
    esac
  done
}

usage() {
  sed -n '2,12s/^# \{0,1\}//p' "$0"
}

folder() { # DIR: made, as an absolute path
  [ -n "${1:-}" ] || { usage >&2; exit 2; }
  mkdir -p "$1"
  (cd "$1" && pwd)
}

case "${1:-}" in
  check)
    check_version "${2:-}"
    check_changelog
    check_interface
    check_tree
    finish "can be released"
    ;;
  build)
    dir=$(folder "${2:-}")
    parts=("${@:3}")
    [ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")
    for part in "${parts[@]}"; do
      case "$part" in
        source | debian | node | static) "build_$part" "$dir" ;;
        *) usage >&2; exit 2 ;;
      esac
    done
    verify "$dir"
    complete "$dir" "${parts[@]}"
    finish "the packages are in $dir"
    ;;
  verify)
    verify "${2:?DIR}"
    complete "$2" "${all[@]}"
    finish "the packages in $2 are well"
    ;;
  sums)
    cd "${2:?DIR}"
    rm -f SHA256SUMS
    sums=$(sha256sum -- *)
    echo "$sums" >SHA256SUMS
    ;;
  notes)
    [[ $(heading) == "## [$version] "* ]] || fault "CHANGELOG.md begins with another version than $version"
    [ "$faults" -eq 0 ] || exit 1
    entry
    ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
