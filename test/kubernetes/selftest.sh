#!/usr/bin/env bash
# Shows that faults of the manifests are noticed: selftest.sh S3LECT
#
# Each line below changes one manifest, and says which message must come. run.sh notices the rest: it
# is slow at that, because it waits for what does not happen.
# Exit 77: skipped, with the reason printed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
s3lect=$1
perl -MCPAN::Meta::YAML -e 1 2>/dev/null || { echo "skipped: no perl with CPAN::Meta::YAML here"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-manifests.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# MANIFEST | sed's command | message
faults='
sidecar | s/elect$/elekt/                          | unknown command
sidecar | s/--http=/--htpp=/                       | --htpp
sidecar | s/port: election/port: elections/        | which is not named
sidecar | s/\(targetPort:\) http/\1 https/         | which no container has
sidecar | s/^    app: web$/    app: wep/           | which no pod has
sidecar | s/name: POD_NAME/name: POD_NAMES/        | is not in env
sidecar | s/\(serviceAccountName:\) s3lect/\1 s3/  | no ServiceAccount s3
worker  | s/--peer-client-auth/--peer-auth/        | --peer-auth
worker  | s/serviceName: worker/serviceName: wrk/  | no Service wrk
worker  | s/clusterIP: None/clusterIP: 10.0.0.1/   | must be headless
worker  | /volumes:/,/---/s/worker-tls/worker-t/   | no Certificate makes
worker  | /volumes:/,$s/name: sts/name: token/     | no volume
worker  | s/    name: worker-ca$/    name: none/   | no Issuer none
worker  | s/- client auth/- clients auth/          | usage
report  | s/--min-hold=5m/--min-hold=5/            | --min-hold
report  | s/--once/--onse/                         | --onse
'

# Everything that is checked without a process: certificates, the pod, and the options of its command.
check() { # MANIFEST
  local argv=() program environment probes host
  mkdir "$dir/root"
  perl "$here/certificates.pl" "$dir/manifests/$1.yaml" "$dir/root" || return 1
  perl "$here/pods.pl" "$dir/manifests" "$1.yaml" pod-0 127.0.0.1 "$dir/root" >"$dir/pod.sh" || return 1
  # shellcheck source=/dev/null
  source "$dir/pod.sh"
  "$s3lect" "${argv[@]:1}" --help >/dev/null
}

attempt() { # MANIFEST [SED]: into out
  rm -rf "$dir/manifests" "$dir/root"
  cp -r "$here/../../examples/kubernetes" "$dir/manifests"
  [ -z "${2:-}" ] || sed -i -e "$2" "$dir/manifests/$1.yaml"
  check "$1" >"$dir/out" 2>&1
}

for manifest in sidecar worker report; do
  attempt $manifest || { echo "refused: $manifest"; cat "$dir/out"; exit 1; }
done
count=0
while IFS='|' read -r manifest edit message; do
  [ -n "$message" ] || continue
  read -r manifest <<<"$manifest"
  read -r message <<<"$message"
  ! attempt "$manifest" "$edit" || { echo "not noticed: $manifest: $edit"; exit 1; }
  grep -q -F -e "$message" "$dir/out" || { echo "noticed, but not told: $edit"; cat "$dir/out"; exit 1; }
  count=$((count + 1))
done <<<"$faults"
echo "$count faults are noticed"
