#!/usr/bin/env bash
# Shows that page.sh fails where a page is wrong: page-selftest.sh PREFIX FAKES3 CC BUILD
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-selftest.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export S3LECT_PAGE_PATIENCE=2
count=0

try() { # COMMENT LANGUAGE TEXT
  printf '# A page\n\n%s\n```%s\n%s\n```\n' "$1" "$2" "$3" >"$dir/page.md"
  "$here/page.sh" "$dir/page.md" "${tools[@]}" >"$dir/out" 2>&1
}
good() {
  try "$@" || { echo "refused: $*"; cat "$dir/out"; exit 1; }
  count=$((count + 1))
}
bad() { # SAYING ...
  local saying=$1
  shift
  ! try "$@" || { echo "not noticed: $*"; exit 1; }
  grep -q -F -e "$saying" "$dir/out" || { echo "noticed, but not told: $*"; cat "$dir/out"; exit 1; }
  grep -q 'failed: .*page.md, line ' "$dir/out" || { echo "where?"; cat "$dir/out"; exit 1; }
  count=$((count + 1))
}

tools=("$@")
good '' sh 'true'
bad 'exit status 1' '' sh $'false\ntrue'
bad 'say what it is' '' c 'int x;'
bad 'say what it is' '' cmake 'project(x)'
good '<!-- file x.c -->' c 'int x;'
bad 'not a part' $'<!-- file x.c -->\n```c\nint x;\n```\n<!-- part x.c -->' c 'int y;'
good $'<!-- file x.c -->\n```c\nint x;\n```\n<!-- patch x.c y.c -->' diff $'-int x;\n+int y;'
bad 'lines with -' $'<!-- file x.c -->\n```c\nint x;\n```\n<!-- patch x.c y.c -->' diff $'-int z;\n+int y;'
good '<!-- prints word -->' sh 'echo a word'
bad 'does not print: word' '<!-- prints word -->' sh 'echo another'
bad 'does not print: word' '<!-- prints word -->' sh 'echo a word; false'
good '<!-- fails -->' sh 'false'
bad 'does not fail' '<!-- fails -->' sh 'true'
good $'```sh\necho "an epoch 1795309444768 (x)"\n```\n<!-- shows -->' text 'an … 1795309444769 (x)'
bad 'does not show: a' $'```sh\necho "a b"\n```\n<!-- shows -->' text 'a'
bad 'does not show: a . b' $'```sh\necho "a+b"\n```\n<!-- shows -->' text 'a . b'
good '<!-- parsed -->' sh 's3lect run --store s3://b/k -- ls --nothing'
bad 'not understood' '<!-- parsed -->' sh 's3lect run --stroe s3://b/k -- ls'
good '<!-- parsed -->' ini $'[Service]\nExecStart=/usr/bin/s3lect elect --store s3://b/k \\\n  --addr %H:1'
bad 'not understood' '<!-- parsed -->' ini $'ExecStart=/usr/bin/s3lect elect --store s3://b/k \\\n  --adr %H:1'
good '<!-- body s3lect_elector_t e; -->' c 's3lect_elector_ref(&e);'
bad 'does not compile' '<!-- body s3lect_elector_t e; -->' c 's3lect_elector_ref(e);'
bad 'begins with s3lect' '<!-- parsed -->' sh 'true'
good '<!-- not run: it is a test -->' sh 'false'
good '<!-- by docs-page-selftest -->' sh 'false'
bad 'there is no test docs-page' '<!-- by docs-page -->' sh 'false'
bad 'why is it not run' '<!-- not run -->' sh 'false'
bad "what is 'runs'" '<!-- runs -->' sh 'true'
good '<!-- terminal 1 up -->' sh $'echo up\nexec tail -f /dev/null'
good $'<!-- terminal 1 up -->\n```sh\necho up\necho down\nexec tail -f /dev/null\n```\n<!-- shows 1 -->' text $'down\nup'
bad 'does not show: over' $'<!-- terminal 1 up -->\n```sh\necho up\nwhile sleep 0.1; do echo up; done\n```\n<!-- shows 1 -->' text 'over'
bad 'never printed: over' $'<!-- terminal 1 up -->\n```sh\necho up\nexec tail -f /dev/null\n```\n<!-- shows 1 -->' text 'over'
bad 'ended without: up' '<!-- terminal 1 up -->' sh 'echo down'
bad 'never printed: up' '<!-- terminal 1 up -->' sh $'echo down\nexec tail -f /dev/null'
printf '```sh\ntrue\n' >"$dir/page.md"
! "$here/page.sh" "$dir/page.md" "${tools[@]}" >"$dir/out" 2>&1 || { echo "not noticed: an open block"; exit 1; }
printf '<!-- by one -->\n```sh\necho 1\n```\n\n```sh\necho 2\n```\n<!-- by one -->\n```sh\necho 3\n```\n' >"$dir/page.md"
[ "$("$here/blocks.sh" "$dir/page.md" one)" = $'echo 1\necho 3' ] || { echo "other blocks than those of one"; exit 1; }
! "$here/blocks.sh" "$dir/page.md" one more 2>"$dir/out" || { echo "not noticed: no such part of one"; exit 1; }
link() { # TARGET: of a page with the headings "A page" and "Its part"
  printf '# A page\n\n[x](%s)\n\n## Its `part`\n' "$1" >"$dir/page.md"
  "$here/links.sh" "$dir" 1 >"$dir/out"
}
rm -rf "${dir:?}"/*
for target in page.md '#its-part' page.md#a-page; do
  link "$target" || { echo "refused: $target"; cat "$dir/out"; exit 1; }
done
for target in pages.md '#its-parts' page.md#page; do
  ! link "$target" || { echo "not noticed: $target"; exit 1; }
done
echo "$count pages, right and wrong"
