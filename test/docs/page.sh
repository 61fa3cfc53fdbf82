#!/usr/bin/env bash
# Does what a page tells its reader to do: page.sh PAGE PREFIX FAKES3 CC BUILD
#
# Takes the page's blocks of code in order, in an empty folder, with s3lect as installed in PREFIX and
# a fake S3 in place of AWS. BUILD is the folder of the ctests. A comment right before a block says
# what the test does with the block:
#
#   <!-- file NAME -->           writes it into the file NAME
#   <!-- part NAME -->           checks that it is a part of NAME, a file that was written before
#   <!-- body DECLARATIONS -->   c: compiles it as a function's body, with these declarations
#   <!-- terminal N TEXT -->     sh: runs it in a terminal of its own, and continues when it has
#                                printed TEXT
#   <!-- prints TEXT -->         sh: runs it again and again until it prints TEXT
#   <!-- patch FROM TO -->       diff: replaces its - lines by its + lines in FROM, which gives TO
#   <!-- fails -->               sh: runs it; it must fail
#   <!-- shows -->               text: checks that the previous sh block has printed these lines. …
#                                matches anything, and a number of ten digits any such number
#   <!-- shows N -->             the same for terminal N; waits for the lines
#   <!-- parsed -->              sh: checks the options of the lines that begin with s3lect;
#                                ini: those of a unit's ExecStart
#   <!-- by TEST [PART] -->      checks that there is a ctest of this name, which runs the block
#                                (blocks.sh gives it to that test)
#   <!-- not run: REASON -->     does nothing
#
# A block of sh without a comment is run, and must not fail. A block of c without one is an error:
# programs are files, and the page compiles them. Other languages need no comment. Comments without
# a block:
#
#   <!-- await N TEXT -->        waits until terminal N prints TEXT
#   <!-- signal N NAME -->       sends SIGNAME to the process in terminal N and, unless NAME is STOP
#                                or CONT, waits for its end
set -euo pipefail

page=$(realpath "$1") prefix=$2 fakes3=$3 build=$5
export CC=$4
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-page.XXXXXX")
mkdir "$dir/blocks" "$dir/work" "$dir/bin"
patience=${S3LECT_PAGE_PATIENCE:-60} # seconds; only a hang meets it
declare -A pid=() fd=()
fake=
where=

clean() {
  local status=$? p
  trap '' EXIT INT TERM
  [ "$status" = 0 ] || [ "$status" = 77 ] || echo "failed: $page, $where" >&2
  for p in "${pid[@]}"; do
    kill -KILL -- "-$p" 2>/dev/null || true
  done
  [ -z "$fake" ] || kill -KILL "$fake" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
  exit "$status"
}
trap clean EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

fail() {
  echo "$*" >&2
  exit 1
}

awk -v dir="$dir/blocks" -f "$root/test/docs/blocks.awk" "$page" >"$dir/steps"

# The reader has read the page on installing: s3lect is found by the shell, pkg-config and the loader.
export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
export CMAKE_PREFIX_PATH=$prefix
printf '#!/bin/sh\nexec %q "$@"\n' "$CC" >"$dir/bin/cc"
chmod +x "$dir/bin/cc"
PATH=$dir/bin:$PATH
mkfifo "$dir/ready"
"$fakes3" --port 0 --die-with-parent >"$dir/ready" 2>"$dir/fakes3.err" &
fake=$!
read -r AWS_ENDPOINT_URL_S3 <"$dir/ready" || fail "no fake S3: $(cat "$dir/fakes3.err")"
export AWS_ENDPOINT_URL_S3 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest AWS_REGION=us-east-1

await() { # TERMINAL TEXT [WANTED]
  local line limit=$((SECONDS + patience))
  while [ "$SECONDS" -lt "$limit" ]; do
    IFS= read -r -t 1 -u "${fd[$1]}" line || {
      kill -0 -- "-${pid[$1]}" 2>/dev/null || { cat "$dir/terminal$1"; fail "it ended without: ${3:-$2}"; }
      continue
    }
    printf '%s\n' "$line" >>"$dir/terminal$1"
    [[ $line != *"$2"* ]] || return 0
  done
  cat "$dir/terminal$1"
  fail "never printed: ${3:-$2}"
}

# A line with … and numbers as a pattern for whole lines.
as_pattern() { # LINE
  sed -E 's/[][\.*^$+?(){}|]/\\&/g; s/[0-9]{10,}/[0-9]+/g; s/…/.*/g' <<<"$1"
}

shows() { # BLOCK [TERMINAL]
  local printed=$dir/${2:+terminal}${2:-out} line pattern limit
  while IFS= read -r line; do
    pattern=$(as_pattern "$line") limit=$((SECONDS + patience))
    until grep -q -x -E -e "$pattern" "$printed"; do
      [ -n "${2:-}" ] && [ "$SECONDS" -lt "$limit" ] || { cat "$printed"; fail "does not show: $line"; }
      await "$2" '' "$line"
    done
  done <"$1"
}

open_terminal() { # TERMINAL BLOCK TEXT
  local out
  mkfifo "$dir/out$1"
  exec {out}<>"$dir/out$1"
  # A process group of its own: what a terminal's Ctrl-C reaches.
  # In the background a shell ignores what Ctrl-C and Ctrl-\ send.
  setsid env --default-signal=INT,QUIT bash -e "$2" >"$dir/out$1" 2>&1 {out}>&- &
  pid[$1]=$! fd[$1]=$out
  : >"$dir/terminal$1"
  await "$1" "$3"
}

send() { # TERMINAL SIGNAL
  kill "-$2" -- "-${pid[$1]}"
  case $2 in STOP | CONT) return ;; esac
  wait "${pid[$1]}" 2>/dev/null || true
  # The shell may have ended before what it ran.
  while kill -0 -- "-${pid[$1]}" 2>/dev/null; do
    IFS= read -r -t 0.05 -u "${fd[$1]}" || true
  done
  unset "pid[$1]"
  exec {fd[$1]}<&-
  rm "$dir/out$1"
}

parsed() { # BLOCK
  local line count=0
  while IFS= read -r line; do
    [[ $line =~ ^(ExecStart=/[^ ]*/)?(s3lect\ .*) ]] || continue
    line=${BASH_REMATCH[2]}
    line=${line%%#*}
    line=${line%% -- *}
    eval "$line --help" >/dev/null || fail "not understood: $line"
    count=$((count + 1))
  done < <(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$1")
  [ "$count" -gt 0 ] || fail "no line begins with s3lect"
}

by() { # TEST
  local found
  found=$(ctest --test-dir "$build" -N -R "^$1\$") || fail "ctest does not list the tests of $build"
  [[ $found != *'Total Tests: 0'* ]] || fail "there is no test $1"
}

# Only the types: what is not set before is the page's own affair.
body() { # BLOCK DECLARATIONS
  { printf '#include <s3lect.h>\nint body(void);\nint body(void) {\n%s\n' "$2"; cat "$1"; printf 'return 0;\n}\n'; } |
    cc -std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Werror -Wno-uninitialized -Wno-maybe-uninitialized \
      -Wno-unused-but-set-variable -fsyntax-only -x c -I "$prefix/include" - || fail "it does not compile"
}

look() { # BLOCK TEXT
  local limit=$((SECONDS + patience))
  mkfifo "$dir/never"
  until bash -e "$1" >"$dir/out" 2>&1 </dev/null && grep -q -F -e "$2" "$dir/out"; do
    [ "$SECONDS" -lt "$limit" ] || { cat "$dir/out"; fail "does not print: $2"; }
    read -r -t 0.1 <>"$dir/never" || true
  done
  rm "$dir/never"
}

cd "$dir/work"
ln -s "$root/examples" examples # as in a clone
ulimit -c 0
count=0
while read -r line language n comment <&9; do
  where="line $line"
  block=$dir/blocks/$n
  read -r verb rest <<<"$comment"
  case $language:$verb in
    open:*) fail "the block is not closed" ;;
    *:not) [[ $rest == run:\ ?* ]] || fail "why is it not run?"; continue ;;
    -:await) await "${rest%% *}" "${rest#* }" ;;
    -:signal) send "${rest%% *}" "${rest#* }" ;;
    *:by) by "${rest%% *}" ;;
    *:file) mkdir -p "$(dirname "$rest")"; cp "$block" "$rest"; [ "$language" != sh ] || chmod +x "$rest" ;;
    *:part)
      text=$(cat "$block")
      [[ $(cat "$rest") == *"$text"* ]] || fail "not a part of $rest"
      ;;
    sh:terminal) open_terminal "${rest%% *}" "$block" "${rest#* }" ;;
    sh:parsed | ini:parsed) parsed "$block" ;;
    c:body) body "$block" "$rest" ;;
    diff:patch)
      old=$(sed -n 's/^-//p' "$block") new=$(sed -n 's/^+//p' "$block") text=$(cat "${rest% *}")
      [[ -n $old && $text == *"$old"* ]] || fail "the lines with - are not in ${rest% *}"
      printf '%s\n' "${text/"$old"/"$new"}" >"${rest#* }"
      ;;
    text:shows) shows "$block" ${rest:+"$rest"} ;;
    sh:prints) look "$block" "$rest" ;;
    sh:fails) ! bash -e "$block" >"$dir/out" 2>&1 </dev/null || { cat "$dir/out"; fail "it does not fail"; } ;;
    sh:)
      bash -e "$block" >"$dir/out" 2>&1 </dev/null || { status=$?; cat "$dir/out"; fail "exit status $status"; }
      ;;
    c:* | cmake:*) fail "say what it is: <!-- file NAME --> or <!-- part NAME --> in the line before" ;;
    sh:*) fail "what is '$comment'?" ;;
    *) continue ;;
  esac
  count=$((count + 1))
done 9<"$dir/steps"
where="its end"
for n in "${!pid[@]}"; do
  send "$n" TERM
done
cd "$root"
echo "$count steps of ${page#"$root"/}"
