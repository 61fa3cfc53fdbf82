#!/usr/bin/env bash
# s3lect-fakes3 as a command, with curl as a client that shares no code with us.
#   test-command.sh PROGRAM command|curl|tls
# Exit 77: skipped, with the reason printed.
set -euo pipefail

program=$1
part=$2
dir=$(mktemp -d /tmp/s3lect-fakes3-XXXXXX)
server=

clean() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$dir"
}
trap clean EXIT

fail() {
  echo "failed: $*" >&2
  exit 1
}

# Starts the server; it says on its standard output when, and where, it listens.
start() {
  mkfifo "$dir/out"
  "$program" --die-with-parent "$@" >"$dir/out" 2>"$dir/err" &
  server=$!
  read -r url <"$dir/out" || fail "no URL: $(cat "$dir/err")"
  rm "$dir/out"
}

# Ends it with that signal; it has to end well.
stop() {
  local status=0
  kill "-$1" "$server"
  wait "$server" || status=$?
  server=
  [ "$status" = 0 ] || fail "SIG$1: exit $status: $(cat "$dir/err")"
}

empty=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

# The status; headers and body are in $dir/head and $dir/body.
s3() {
  curl -sS --aws-sigv4 aws:amz:us-east-1:s3 -u "${keys:-test:testtest}" -D "$dir/head" \
    -o "$dir/body" -w '%{http_code}' -H 'Expect:' "$@"
}

put() {
  local text=$1
  shift
  printf %s "$text" >"$dir/upload"
  s3 -T "$dir/upload" -H "x-amz-content-sha256: $(sha256sum <"$dir/upload" | cut -d' ' -f1)" "$@"
}

get() {
  s3 -H "x-amz-content-sha256: $empty" "$@"
}

expect() {
  [ "$1" = "$2" ] || fail "$3: $1, not $2: $(cat "$dir/head" "$dir/body")"
}

need_curl() {
  command -v curl >/dev/null || { echo "skipped: no curl here"; exit 77; }
  curl --help all | grep -q -- --aws-sigv4 || { echo "skipped: this curl cannot sign"; exit 77; }
}

test_command() {
  local status
  "$program" --help | grep -q -- --ready-file || fail "--help"
  "$program" --version | grep -q '^s3lect-fakes3 [0-9]' || fail "--version"
  for bad in --nothing --port=70000 --port=x --key=x --clock-offset=soon --fault=x surplus; do
    status=0
    "$program" "$bad" 2>"$dir/err" || status=$?
    [ "$status" = 2 ] && [ -s "$dir/err" ] || fail "$bad: exit $status"
  done
  mapfile -t many < <(printf -- '--fault={}\n%.0s' {1..17})
  status=0
  "$program" "${many[@]}" 2>"$dir/err" || status=$?
  [ "$status" = 2 ] && grep -q 'too many faults' "$dir/err" || fail "17 faults: exit $status"
  status=0
  "$program" --host nowhere 2>"$dir/err" || status=$?
  [ "$status" = 1 ] && grep -q nowhere "$dir/err" || fail "--host nowhere: exit $status"

  status=0
  "$program" --protocol ftp 2>"$dir/err" || status=$?
  [ "$status" = 1 ] && grep -q '"ftp"' "$dir/err" || fail "--protocol ftp: exit $status"

  start
  case $url in http://127.0.0.1:[0-9]*) ;; *) fail "URL $url" ;; esac
  stop TERM
  start --host localhost
  case $url in http://localhost:[0-9]*) ;; *) fail "URL $url" ;; esac
  stop INT

  # The ready file is whole when it is there, and its server ends with the parent.
  bash -c '"$0" --die-with-parent --ready-file "$1/ready" & echo $! >"$1/pid"
    mkfifo "$1/never"
    until [ -e "$1/ready" ]; do read -r -t 0.02 <>"$1/never" || true; done' "$program" "$dir"
  grep -q '^http://127.0.0.1:[0-9]*$' "$dir/ready" || fail "ready file: $(cat "$dir/ready")"
  timeout 30 tail --pid="$(cat "$dir/pid")" -f /dev/null || fail "it outlives its parent"
}

# Azure and Google, with bearer tokens.
other() {
  curl -sS -D "$dir/head" -o "$dir/body" -w '%{http_code}' -H 'Expect:' \
    -H 'Authorization: Bearer a:token' "$@"
}

test_others() {
  start --protocol azure --buckets box --key name::a:token
  blob=$url/devstoreaccount1/box/k
  azure=(-H 'x-ms-version: 2023-11-03' -H 'x-ms-blob-type: BlockBlob')
  expect "$(other "${azure[@]}" -T "$dir/upload" "$blob")" 201 "PUT of a blob"
  expect "$(other "${azure[@]}" -T "$dir/upload" -H 'If-None-Match: *' "$blob")" 409 "twice"
  expect "$(other "${azure[@]}" "${blob/box/none}")" 404 "another container"
  grep -q ContainerNotFound "$dir/body" || fail "ContainerNotFound"
  expect "$(curl -sS -o "$dir/body" -w '%{http_code}' "$blob")" 401 "unsigned"
  stop TERM
  start --protocol gcs --key name::a:token
  expect "$(other -T "$dir/upload" -H 'x-goog-if-generation-match: 0' "$url/b/k")" 200 "gcs: PUT"
  expect "$(other -T "$dir/upload" -H 'x-goog-if-generation-match: 0' "$url/b/k")" 412 "twice"
  expect "$(other "$url/b/k")" 200 "gcs: GET"
  grep -qi '^x-goog-generation: [0-9]' "$dir/head" || fail "x-goog-generation"
  stop TERM
}

test_curl() {
  need_curl
  start --log "$dir/log"
  expect "$(put one "$url/bucket/a%20key")" 200 PUT
  expect "$(get "$url/bucket/a%20key")" 200 GET
  expect "$(cat "$dir/body")" one "body of GET"
  grep -qi '^etag: "f97c5d29941bfb1b2fdab0874906ab82"' "$dir/head" || fail "ETag"
  expect "$(put two "$url/bucket/a%20key" -H 'If-None-Match: *')" 412 "create twice"
  grep -q '<Condition>If-None-Match</Condition>' "$dir/body" || fail "Condition"
  expect "$(put two "$url/bucket/a%20key" -H 'If-Match: "f97c5d29941bfb1b2fdab0874906ab82"')" 200 \
    swap
  expect "$(put three "$url/bucket/a%20key" -H 'If-Match: "f97c5d29941bfb1b2fdab0874906ab82"')" \
    412 "swap again"
  expect "$(get -I "$url/bucket/a%20key")" 200 HEAD
  expect "$(put x "$url/bucket/b")" 200 PUT
  expect "$(get "$url/bucket?list-type=2&max-keys=1")" 200 LIST
  token=$(sed -n 's:.*<NextContinuationToken>\(.*\)</NextContinuationToken>.*:\1:p' "$dir/body")
  [ -n "$token" ] || fail "no token"
  expect "$(get "$url/bucket?continuation-token=$token&list-type=2")" 200 "LIST again"
  grep -q '<KeyCount>1</KeyCount>.*<Key>b</Key>' "$dir/body" || fail "second page"
  expect "$(get "$url/bucket?continuation-token=zz&list-type=2")" 400 "LIST, bad token"
  expect "$(get -X DELETE "$url/bucket")" 409 "DELETE of a bucket in use"
  expect "$(get -X DELETE "$url/bucket/b")" 204 DELETE
  expect "$(get "$url/bucket/b")" 404 "GET of what was deleted"
  expect "$(keys=test:wrong get "$url/bucket/b")" 403 "wrong secret"
  grep -q SignatureDoesNotMatch "$dir/body" || fail "SignatureDoesNotMatch"
  expect "$(curl -sS -o "$dir/body" -w '%{http_code}' "$url/bucket/b")" 403 unsigned
  expect "$(curl -sS -o "$dir/body" -w '%{http_code}' -d '{"status":503}' "$url/_fakes3/faults")" \
    200 "adding a fault"
  expect "$(get "$url/bucket/b")" 503 fault
  stop TERM
  expect "$(wc -l <"$dir/log")" 16 "lines of the log"
  test_others
  start --fault '{"match":{"method":"PUT"},"status":503}' --fault '{"match":{"method":"GET"},"status":500}'
  expect "$(put one "$url/bucket/b")" 503 "fault from the start"
  expect "$(get "$url/bucket/b")" 500 "a second one"
  stop TERM
}

test_tls() {
  need_curl
  start --tls-self "$dir" --domain s3.test
  case $url in https://127.0.0.1:[0-9]*) ;; *) fail "URL $url" ;; esac
  port=${url##*:}
  expect "$(put one "$url/bucket/k" --cacert "$dir/ca.pem")" 200 PUT
  expect "$(get "https://localhost:$port/bucket/k" --cacert "$dir/ca.pem")" 200 "by name"
  expect "$(get "https://bucket.s3.test:$port/k" --cacert "$dir/ca.pem" \
    --resolve "bucket.s3.test:$port:127.0.0.1")" 200 "virtual host"
  expect "$(cat "$dir/body")" one "body of GET"
  ! get "$url/bucket/k" >/dev/null 2>&1 || fail "trusted without the authority's certificate"
  expect "$(get "http://127.0.0.1:$port/bucket/k")" 400 "plain HTTP on a TLS port"
  expect "$(curl -sS -o "$dir/body" -w '%{http_code}' "http://127.0.0.1:$port/_fakes3/state")" 200 \
    "control in plain HTTP"
  grep -q '"tls_handshakes":3' "$dir/body" || fail "handshakes: $(cat "$dir/body")"
  curl -sS --cacert "$dir/ca.pem" -H 'Connection: close' -o /dev/null "$url/_fakes3/state" \
    -o "$dir/body" "$url/_fakes3/state"
  grep -q '"tls_resumed":1' "$dir/body" || fail "resumption: $(cat "$dir/body")"
  curl -sS -o /dev/null -d '{"refuse":true}' "http://127.0.0.1:$port/_fakes3/faults"
  ! get "$url/bucket/k" --cacert "$dir/ca.pem" >/dev/null 2>&1 || fail "not refused"
  curl -sS -o /dev/null -X DELETE "http://127.0.0.1:$port/_fakes3/faults"
  expect "$(get "$url/bucket/k" --cacert "$dir/ca.pem")" 200 "after the refusal"
  stop TERM
}

"test_$part"
