#!/usr/bin/env bash
# The manifests of examples/kubernetes fit the schemas, and faults do not: schemas.sh kubernetes|cert-manager
# Exit 77: skipped, with the reason printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

what=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-schemas.XXXXXX")
trap 'rm -rf "$dir"' EXIT

need() { # CHECKER: its folder, in REPLY
  REPLY=$(deps/install-checkers.sh "$1" 2>"$dir/log") && return
  local status=$?
  [ "$status" -ne 77 ] || echo "skipped: $(tail -n 1 "$dir/log")"
  [ "$status" -eq 77 ] || cat "$dir/log" >&2
  exit "$status"
}
need kubernetes
export PYTHONPATH=$REPLY PYTHONDONTWRITEBYTECODE=1
if [ "$what" = cert-manager ]; then
  need cert-manager
  modules=$REPLY
fi

check() { # FOLDER
  case "$what" in
    kubernetes) python3 test/kubernetes/schemas.py kubernetes "$1"/*.yaml ;;
    cert-manager)
      python3 test/kubernetes/schemas.py cert-manager "$1"/*.yaml |
        node test/kubernetes/cert-manager.mjs "$modules"
      ;;
  esac
}

# MANIFEST | sed's command | message
case "$what" in
  kubernetes) faults='
sidecar | s/replicas:/replica:/                                          | replica
sidecar | s/containerPort: 29090/containerPort: http/                    | not of type
sidecar | s/restartPolicy: Always/restart: Always/                       | restart
worker  | /^  podManagementPolicy/,/^  template/s/matchLabels:/labels:/  | labels
worker  | s/mountPath: \/tls/path: \/tls/                                | mountPath
report  | s/schedule: .*/schedule: 5/                                    | not of type
report  | s/kind: CronJob/kind: CronTask/                                | find schema
' ;;
  cert-manager) faults='
worker  | s/- client auth/- clients auth/                                | usages
worker  | s/isCA: true/isCa: true/                                       | isCa
worker  | s/secretName: worker-tls/secret: worker-tls/                   | secretName
worker  | s/algorithm: ECDSA/algorithm: EC/                              | algorithm
worker  | s/    kind: Issuer/    kinds: Issuer/                          | kinds
' ;;
esac

check examples/kubernetes
count=0
while IFS='|' read -r manifest edit message; do
  [ -n "$message" ] || continue
  read -r manifest <<<"$manifest"
  read -r message <<<"$message"
  rm -rf "$dir/broken"
  cp -r examples/kubernetes "$dir/broken"
  sed -i -e "$edit" "$dir/broken/$manifest.yaml"
  ! check "$dir/broken" >"$dir/out" 2>&1 || { echo "not noticed: $manifest: $edit" >&2; exit 1; }
  grep -q -F -e "$message" "$dir/out" || { echo "noticed, but not told: $edit" >&2; cat "$dir/out" >&2; exit 1; }
  count=$((count + 1))
done <<<"$faults"
echo "$count faults are noticed"
