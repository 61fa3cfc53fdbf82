#!/usr/bin/env bash
# Measures signed requests of other clients, as "run.sh http" measures those of s3lect and of the
# installed libcurl: a current libcurl, object_store (Rust) and minio-go (Go).
#
#   test/bench/run.sh others            s3lect and these beside it
#   test/bench/others/run.sh BENCH      these only; BENCH: s3lect-bench of the release preset
#
# cargo and go fetch them and build them in build/others. What cannot be had is skipped, and the
# reason is printed.
set -euo pipefail
[ $# -eq 1 ] && [ -x "$1" ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
bench=$(realpath "$1")
cd "$(dirname "$0")/../../.."
here=test/bench/others
out=$PWD/build/others
mkdir -p "$out"
cp "$here"/{Cargo.toml,object_store.rs,go.mod,minio.go} "$out"

attempt() { # NAME TOOL COMMAND...: fails, after saying so, if there is no TOOL or COMMAND fails
  local name=$1 tool=$2
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "$name: skipped: no $tool here"
    return 1
  elif ! "$@" >"$out/$tool.log" 2>&1; then
    echo "$name: skipped: $tool could not build it (everything it said: $out/$tool.log):"
    tail -n 3 "$out/$tool.log" | sed 's/^/  /'
    return 1
  fi
}

# The crate compiles libcurl for static linking, and hides its functions. With the flag they can be
# exported again: the program that was linked with the installed libcurl then runs with this one.
build_rust() {
  CFLAGS=-fvisibility=default cargo build --release --manifest-path "$out/Cargo.toml" --target-dir "$out/target"
}

link_curl() {
  local archive
  archive=$(find "$out/target/release/build" -name libcurl.a -printf '%T@ %p\n' | sort -n | tail -n 1)
  echo 'CURL_OPENSSL_4 { global: curl_*; local: *; };' >"$out/curl.map"
  cc -shared -o "$out/libcurl.so.4" -Wl,-soname,libcurl.so.4 "-Wl,--version-script=$out/curl.map" \
    -Wl,--whole-archive "${archive#* }" -Wl,--no-whole-archive -lssl -lcrypto -lz
}

build_go() {
  (cd "$out" && GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -buildvcs=false -o minio .)
}

pids=()
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-bench.XXXXXX")
clean() {
  trap '' EXIT INT TERM
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap clean EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

start_server() { # OPTION...: sets $url
  exec {server}< <(exec "$(dirname "$bench")/../fakes3/s3lect-fakes3" --die-with-parent --log-entries 1 \
    --buckets bench "$@")
  pids+=($!)
  IFS= read -r -t 60 -u "$server" url || { echo "the fake S3 did not start" >&2; exit 1; }
}

# What starting costs is the same in both runs.
instructions() { # PROGRAM URL CA_FILE METHOD
  local n text=() count=()
  for n in 100 300; do
    text=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 1 "$n" 2>&1) || { echo "$text" >&2; exit 1; }
    count+=("$(awk '/ Collected : /{print $NF}' <<<"$text")")
  done
  printf '  %-40s %9d\n' "$(sed -n 's/^  \(.*[^ ]\)  .* us$/\1/p' <<<"$text")" $(((count[1] - count[0]) / 200))
}

measure() { # COMMAND...: for each kind of request, with "URL CA_FILE METHOD" appended
  "$@" "$plain" "" GET
  "$@" "$plain" "" PUT
  "$@" "$tls" "$dir/ca.pem" GET
  "$@" "$tls" "$dir/ca.pem" PUT
}

three_rounds() { # PROGRAM URL CA_FILE METHOD
  "$@" 3 3000
}

rust=false go=false
if attempt "a current libcurl, object_store" cargo build_rust; then
  rust=true
  if attempt "a current libcurl" cc link_curl; then
    LD_LIBRARY_PATH=$out S3LECT_BENCH=$bench test/bench/run.sh http | grep -v '^ *s3lect '
  fi
fi
attempt minio-go go build_go && go=true

taskset -cp "$(taskset -cp $$ | grep -o '[0-9]*$')" $$ >/dev/null # as "run.sh http" does
start_server
plain=$url
start_server --tls-self "$dir"
tls=$url
if $rust; then
  awk -F '"' '/^name = /{name = $2} /^version = /{version[name] = $2}
    END{printf "object_store %s (reqwest %s, hyper %s, tokio %s, rustls %s, aws-lc-rs %s)", version["object_store"],
      version["reqwest"], version["hyper"], version["tokio"], version["rustls"], version["aws-lc-rs"]}' "$out/Cargo.lock"
  echo ", $(rustc --version)"
  if command -v valgrind >/dev/null; then
    echo "One request over a warm connection, instructions in user space (callgrind):"
    measure instructions "$out/target/release/object_store"
  fi
  echo "CPU of a request:"
  measure three_rounds "$out/target/release/object_store"
fi
if $go; then
  echo "minio-go $(awk '$2 ~ /minio-go/{print $3} $1 ~ /minio-go/{print $2}' "$out/go.mod" | head -n 1), $(go version)"
  echo "CPU of a request:"
  measure three_rounds "$out/minio"
fi
