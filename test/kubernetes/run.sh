#!/usr/bin/env bash
# Runs the manifests of examples/kubernetes without a cluster: run.sh S3LECT FAKES3 [DIRECTORY]
#
# The pods are processes in a network of their own, each with an address. docs/deploy.md says which
# manifests are applied. What the pods execute, their environment, volumes and certificates come from
# the manifests (pods.pl, certificates.pl); the bucket is a fake S3, and a fake STS gives keys to the
# pods' tokens. The probes are asked as a kubelet asks them. Shown: one pod leads; its successor follows when it is deleted; probes and programs agree.
# Exit 77: skipped, with the reason printed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ "${S3LECT_KUBERNETES_DIR:-}" = "" ]; then
  perl -MCPAN::Meta::YAML -MIO::Socket::INET -e 1 2>/dev/null || { echo "skipped: no perl with its modules here"; exit 77; }
  for tool in curl openssl; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 77; }
  done
  own=(unshare --map-root-user --net --mount --pid --fork --kill-child --mount-proc)
  "${own[@]}" sh -c 'ip link set lo up && mount --bind /etc/hosts /etc/hosts' 2>/dev/null ||
    { echo "skipped: no network and files of its own to be had here (unshare, ip, mount)"; exit 77; }
  dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-kubernetes.XXXXXX")
  trap 'rm -rf "$dir"' EXIT
  S3LECT_KUBERNETES_DIR=$dir "${own[@]}" "$0" "$@" || { tail -n 5 "$dir"/*.err; exit 1; }
  exit 0
fi

# From here on in the namespaces, as their first process: with it all others end.
s3lect=$(realpath "$1") fakes3=$(realpath "$2")
root=$(cd "$here/../.." && pwd)
manifests=$(cd "${3:-$root/examples/kubernetes}" && pwd)
dir=$S3LECT_KUBERNETES_DIR
unset S3LECT_KUBERNETES_DIR
cd "$dir"
ip link set lo up

fail() {
  echo "failed: $*" >&2
  exit 1
}

# Waits until a command succeeds, at most for a minute. Only a fault meets the limit.
await() { # WHAT COMMAND...
  local what=$1 limit=$((SECONDS + 60))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$limit" ] || fail "$what: did not happen"
    read -r -t 0.05 <>never || true
  done
}
mkfifo never

# --- the cluster ---

mkdir bin
ln -s "$s3lect" bin/s3lect
# Stands in for a program: says how it was started, and works until it is told to end.
cat >bin/worker <<'PROGRAM'
#!/bin/sh
echo "$S3LECT_ID: worker $*" >>programs
trap 'exit 0' TERM
while :; do sleep 1; done
PROGRAM
# A job that ends at once.
cat >bin/report <<'PROGRAM'
#!/bin/sh
echo "$S3LECT_ID: report $*" >>programs
PROGRAM
chmod +x bin/worker bin/report
: >programs

keys=(ASIAKUBERNETES secret of-the-role)
role=$(sed -n 's/.*role-arn: //p' "$manifests/identity.yaml")
mkfifo fakes3.url sts.url
"$fakes3" --key "$(IFS=:; echo "${keys[*]}")" --log requests --log-entries 0 >fakes3.url 2>fakes3.err &
read -r s3_url <fakes3.url
perl "$here/sts.pl" "$role" "${keys[@]}" >sts.out 2>sts.err &
await "a fake STS" test -s sts.out
read -r sts_url <sts.out
perl "$here/certificates.pl" "$manifests/worker.yaml" "$dir"

# The cluster's DNS.
cp /etc/hosts hosts
mount --bind hosts /etc/hosts

# What the cluster gives to every pod; all else comes from the manifests.
cluster=("PATH=$dir/bin:$PATH" "AWS_ENDPOINT_URL_S3=$s3_url" "AWS_ENDPOINT_URL_STS=$sts_url"
  AWS_EC2_METADATA_DISABLED=true AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null)

# What the page tells its reader to apply.
cat >bin/kubectl <<'PROGRAM'
#!/bin/sh
[ "$1" = apply ] && shift || exit 1
while [ $# -gt 0 ]; do
  [ "$1" = -f ] && [ -f "$2" ] && basename "$2" .yaml >>applied || { echo "no such manifest: $*" >&2; exit 1; }
  shift 2
done
PROGRAM
chmod +x bin/kubectl
"$root/test/docs/blocks.sh" "$root/docs/deploy.md" kubernetes-run >page
ln -s "$root/examples" examples
PATH=$dir/bin:$PATH bash -e page || fail "docs/deploy.md says: $(cat page)"

# On an empty store the first candidate waits for a leader timeout. Here each election has had a leader.
seed() { # MANIFEST
  local store
  store=$(sed -n 's/.*--store=//p' "$manifests/$1.yaml")
  env -i "${cluster[@]}" AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest \
    s3lect run --store "$store" --leader-timeout 1800ms --quiet -- true 2>>seed.err
}
seeds=()
for manifest in sidecar worker report; do
  grep -q -x $manifest applied || fail "docs/deploy.md does not apply $manifest.yaml"
  seed $manifest &
  seeds+=($!)
done
for seed in "${seeds[@]}"; do
  wait "$seed" || fail "no election of that name: $(cat seed.err)"
done

# --- pods ---

declare -A pid=() startup=() readiness=() liveness=() address=()
last=10

start_pod() { # MANIFEST POD
  local argv program environment probes host probe
  last=$((last + 1))
  address[$2]=127.0.0.$last
  perl "$here/pods.pl" "$manifests" "$1.yaml" "$2" "127.0.0.$last" "$dir" >"$2.sh"
  # shellcheck source=/dev/null
  source "./$2.sh"
  for probe in "${probes[@]}"; do
    declare -gA "${probe%%=*}+=([$2]=${probe#*=})"
  done
  [ -z "$host" ] || echo "127.0.0.$last $host" >>hosts
  [ ${#program[@]} -eq 0 ] || program=(-- "${program[@]}")
  env -i "${cluster[@]}" "${environment[@]}" "${argv[@]}" "${program[@]}" >"$2.out" 2>"$2.err" &
  pid[$2]=$!
}
asked() { # URL: as a kubelet, from outside of the pod
  curl --silent --fail --output /dev/null "$1"
}

# Deletes a pod: SIGTERM, and the end of its process.
delete_pod() { # POD
  kill -TERM "${pid[$1]}"
  wait "${pid[$1]}" || [ $? -eq 143 ] || fail "$1 exits with $?: $(cat "$1.err")"
  unset "pid[$1]"
}

running() { # POD...
  local pod
  for pod; do
    kill -0 "${pid[$pod]}" 2>/dev/null || fail "$pod has ended: $(cat "$pod.err")"
  done
}

alive() { # POD...
  local pod
  running "$@"
  for pod; do
    asked "${liveness[$pod]}" || fail "$pod: its liveness probe fails: ${liveness[$pod]}"
  done
}

# --- sidecar.yaml: the ready pod is the leader ---

ready_pods() { # POD...: into REPLY
  local pod
  REPLY=
  running "$@"
  for pod; do
    ! asked "${readiness[$pod]}" || REPLY+="$pod "
  done
  REPLY=${REPLY% }
}
one_is_ready() { ready_pods "$@"; [ -n "$REPLY" ]; }
is_ready() { running "$1" && asked "${readiness[$1]}"; }
has_started() { running "$1" && asked "${startup[$1]}"; }

start_pod sidecar web-1
await "start of web-1" has_started web-1
start_pod sidecar web-2
await "start of web-2" has_started web-2
await "a leader of web" one_is_ready web-1 web-2
ready_pods web-1 web-2
leader=$REPLY
case $leader in
  web-1) follower=web-2 ;;
  web-2) follower=web-1 ;;
  *) fail "ready are: $leader" ;;
esac
alive web-1 web-2
text=$(curl --silent "${readiness[$leader]}")
[[ $text =~ ^leader\ [0-9]+$ ]] || fail "the program beside $leader gets no epoch: $text"
delete_pod "$leader"
await "the Service to follow" is_ready "$follower"
delete_pod "$follower"

# --- worker.yaml: the program runs in one pod; the other one asks it ---

runs() { # POD PROGRAM ARG...
  grep -q -x -F -e "$1: ${*:2}" programs
}
asks_leader() { # POD
  curl --silent --fail "${readiness[$1]%/*}/metrics" | grep -q '^s3lect_peer_answers_total{.*} [1-9]'
}

start_pod worker worker-0
await "a start of the worker" runs worker-0 worker --queue=jobs
start_pod worker worker-1
await "readiness of worker-1" is_ready worker-1
await "an answer of worker-0 over TLS" asks_leader worker-1
await "readiness of worker-0" is_ready worker-0
alive worker-0 worker-1
! runs worker-1 worker --queue=jobs || fail "the worker runs twice"
# Only the holder of a certificate is answered.
! curl --silent --insecure --output /dev/null "https://${address[worker-0]}:8443/health/leadership" ||
  fail "worker-0 answers without a certificate"
delete_pod worker-0
await "a start of the worker in the other pod" runs worker-1 worker --queue=jobs
delete_pod worker-1

# --- report.yaml: the second of two jobs gives up, and does not fail ---

start_pod report report-1
await "the report" runs report-1 report --hourly
start_pod report report-2
wait "${pid[report-2]}" || fail "report-2 exits with $?: $(cat report-2.err)"
grep -q 'report-1 leads, giving up' report-2.err || fail "report-2 says: $(cat report-2.err)"
running report-1
! runs report-2 report --hourly || fail "the report was made twice"
delete_pod report-1

# --- all of it with the role's keys ---

for pod in "${!address[@]}"; do
  grep -q -x "$pod assumed the role" sts.out || fail "$pod did not assume the role: $(cat sts.out)"
done
grep -q "\"access_key\":\"${keys[0]}\"" requests || fail "no request has the role's key"
[ ! -s sts.err ] || fail "$(cat sts.err)"
echo "${#address[@]} pods of 3 manifests"
