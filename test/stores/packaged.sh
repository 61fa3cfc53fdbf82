#!/usr/bin/env bash
# Runs a command beside a server of objects from a package registry, and ends the server afterwards:
#
#   packaged.sh moto|s3proxy|s3mock|azurite CMD ARG...
#
# CMD sees the variables that radosgw.sh sets (AWS_ENDPOINT_URL_S3, S3LECT_TEST_BUCKET, ...), or for
# Azurite those of Azure's tools; and S3LECT_TEST_STORE, the URL before a key. Its exit status is
# returned. Server and CMD share a network of their own, in which there is nothing but
# a loopback interface (S3Mock listens on every address of a machine), and a process namespace that
# ends with CMD, or with this script, whatever ends that. What the server writes is in memory.
# Exit 77 where the packages cannot be had or the machine allows no such namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ready_seconds=60 # for the server to answer

say() { echo "packaged: $*" >&2; }

if [ "${S3LECT_PACKAGED_LIB:-}" = "" ]; then
  [ $# -ge 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
  case "$1" in
    moto) runs=python3 ;;
    azurite) runs=node ;;
    *) runs=java ;;
  esac
  command -v $runs >/dev/null || { say "skipped: no $runs here to run $1 with"; exit 77; }
  lib=$("$here/../../deps/install-stores.sh" "$1")
  own=(unshare --map-root-user --net --pid --fork --kill-child --mount-proc)
  "${own[@]}" ip link set lo up 2>/dev/null ||
    { say "skipped: no network of its own to be had here (unshare, ip)"; exit 77; }
  S3LECT_PACKAGED_LIB=$lib exec "${own[@]}" "$0" "$@"
fi

# From here on in the namespaces, as their first process: with it all others end.
name=$1 lib=$S3LECT_PACKAGED_LIB
shift
unset S3LECT_PACKAGED_LIB
ip link set lo up
scratch=/mnt
mount -t tmpfs s3lect "$scratch"
export S3LECT_TEST_BUCKET=s3lect-test
export S3LECT_TEST_STORE=s3://$S3LECT_TEST_BUCKET
export AWS_ENDPOINT_URL_S3=http://127.0.0.1:9000 AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest

java=(java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "-Djava.io.tmpdir=$scratch" -cp "$lib/*")
case "$name" in
  moto)
    server=(env "PYTHONPATH=$lib" python3 -c 'import sys; from moto.server import main; main(sys.argv[1:])'
      -H 127.0.0.1 -p 9000)
    ;;
  s3proxy)
    cat >"$scratch/s3proxy.conf" <<CONF
s3proxy.endpoint=$AWS_ENDPOINT_URL_S3
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=$AWS_ACCESS_KEY_ID
s3proxy.credential=$AWS_SECRET_ACCESS_KEY
jclouds.provider=transient
jclouds.identity=none
jclouds.credential=none
CONF
    echo '<configuration/>' >"$scratch/quiet.xml" # else it logs every request
    server=("${java[0]}" "-Dlogback.configurationFile=$scratch/quiet.xml" "${java[@]:1}"
      org.gaul.s3proxy.Main --properties "$scratch/s3proxy.conf")
    ;;
  azurite) # at its usual port
    account=devstoreaccount1
    export S3LECT_TEST_STORE=az://$account/$S3LECT_TEST_BUCKET AZURE_STORAGE_CONNECTION_STRING=UseDevelopmentStorage=true
    server=(node "$lib/node_modules/azurite/dist/src/blob/main.js" --silent --disableTelemetry --inMemoryPersistence)
    cd "$scratch" # where it writes its settings
    ;;
  s3mock)
    server=("${java[0]}" -Dhttp.port=9000 -Dserver.port=9001 -Dlogging.level.root=WARN "${java[@]:1}"
      com.adobe.testing.s3mock.S3MockApplication)
    ;;
esac
"${server[@]}" </dev/null >"$scratch/log" 2>&1 &

# curl 7.88 signs what it is given, but does not hash the body.
make_s3_bucket() {
  curl -s -o /dev/null -w '%{http_code}' -m 20 -X PUT --data-binary '' \
    --aws-sigv4 "aws:amz:$AWS_REGION:s3" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
    -H "x-amz-content-sha256: $(sha256sum </dev/null | cut -d' ' -f1)" \
    "$AWS_ENDPOINT_URL_S3/$S3LECT_TEST_BUCKET"
}

# The well-known key of the emulator's account.
make_container() {
  local key date text signature
  key=$(base64 -d <<<Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw== |
    od -An -v -tx1 | tr -d ' \n')
  date=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')
  text=$(printf '%s' "PUT" && printf '\n%.0s' {1..12} &&
    printf 'x-ms-date:%s\nx-ms-version:2023-11-03\n/%s/%s/%s\nrestype:container' "$date" $account $account "$S3LECT_TEST_BUCKET")
  signature=$(printf '%s' "$text" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  curl -s -o /dev/null -w '%{http_code}' -m 20 -X PUT -H 'content-length: 0' -H "x-ms-date: $date" \
    -H 'x-ms-version: 2023-11-03' -H "authorization: SharedKey $account:$signature" \
    "http://127.0.0.1:10000/$account/$S3LECT_TEST_BUCKET?restype=container"
}

make_bucket() {
  case "$name" in
    azurite) [ "$(make_container)" = 201 ] ;;
    *) [ "$(make_s3_bucket)" = 200 ] ;;
  esac
}
until make_bucket; do
  if ! kill -0 $! 2>/dev/null || [ "$SECONDS" -ge $ready_seconds ]; then
    tail -n 20 "$scratch/log" | cut -c -200 >&2
    say "$name could not be started"
    exit 1
  fi
  sleep 0.1
done
status=0
"$@" || status=$?
exit $status
