#!/usr/bin/env bash
# Does what docs/deploy.md says on container images, from a clean copy of the tree:
#   dockerfile.sh FAKES3 VERSION
#
# docker.sh stands in for docker. The containers run in a network of their own, with a fake S3 in place of
# AWS.
# Exit 77: skipped, with the reason printed.
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "failed: $*"
  [ ! -s "$dir/log" ] || tail -n 40 "$dir/log"
  exit 1
}
block() { # PART
  test/docs/blocks.sh docs/deploy.md portable-dockerfile "$1"
}

if [ "${1:-}" != --inside ]; then
  here=$(cd "$(dirname "$0")" && pwd)
  cd "$here/../.."
  fakes3=$1 version=$2
  [ "$(id -u)" -eq 0 ] || skip "roots are made by root"
  for tool in mmdebstrap dpkg ip; do
    command -v $tool >/dev/null || skip "no $tool here"
  done
  why=$(unshare --mount --net --pid --fork true 2>&1) || skip "no namespaces here: $why"
  git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "not a git work tree"
  dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-docker.XXXXXX")
  trap 'rm -rf "$dir"' EXIT
  export S3L_DOCKER=$dir PATH=$dir/bin:$PATH
  mkdir "$dir/bin"
  ln -s "$here/docker.sh" "$dir/bin/docker"

  status=0
  said=$(bash -e -c "$(block build)" 2>"$dir/log") || status=$?
  [ "$status" -ne 77 ] || skip "$(tail -n 1 "$dir/log")"
  [ "$status-$said" = "0-s3lect $version" ] || fail "docker build: exit $status, $said"
  held=$(cd "$dir/images/s3lect/root" && find . -type f | sort | tr '\n' ' ')
  [ "$held" = "./etc/ssl/cert.pem ./usr/bin/s3lect ./usr/bin/s3lect-health " ] || fail "the image holds $held"

  # The page's image for a worker.
  mkdir "$dir/worker"
  block worker >"$dir/worker/Dockerfile"
  (cd "$dir/worker" && git init -q . && git add Dockerfile && docker build -t worker .) 2>"$dir/log" ||
    fail "the worker's image"
  unshare --net --pid --fork --kill-child --mount-proc "$0" --inside "$fakes3"
  echo "$(du -sk "$dir/images/s3lect/root" | cut -f1) KiB, alive and healthy"
  exit
fi

fakes3=$2 dir=$S3L_DOCKER
ip link set lo up
mkfifo "$dir/url" "$dir/events"
"$fakes3" >"$dir/url" 2>"$dir/log" &
read -r AWS_ENDPOINT_URL_S3 <"$dir/url"
export AWS_ENDPOINT_URL_S3 AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest
until_leading() { # The events come one a line, the end of the container ends them.
  while read -r event; do
    [[ $event != *started_leading* ]] || return 0
  done
  fail "it does not lead"
}

! docker health s3lect 2>>"$dir/log" || fail "healthy before it runs"
block elect | sed 's/ -e AWS_REGION/ -e AWS_ENDPOINT_URL_S3&/' >"$dir/elect"
bash -e "$dir/elect" >"$dir/events" 2>>"$dir/log" &
exec 3<"$dir/events" # stays open for as long as the container runs
until_leading <&3
docker health s3lect 2>>"$dir/log" || fail "not healthy"

# run ends with its command, and needs /proc, which the engine mounts.
said=$(docker run --rm -e AWS_ENDPOINT_URL_S3 -e AWS_REGION -e AWS_ACCESS_KEY_ID -e AWS_SECRET_ACCESS_KEY worker \
  sh -c 'echo "epoch $S3LECT_EPOCH"' 2>>"$dir/log") || fail "the worker"
[[ $said == "epoch "[0-9]* ]] || fail "the worker says: $said"
