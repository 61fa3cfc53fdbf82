#!/usr/bin/env bash
# A real S3 server on loopback: Ceph's radosgw on one monitor and one in-memory OSD, ready in a
# second or two. It needs Debian's radosgw, ceph-mon, ceph-osd and ceph-common, and no systemd.
#
#   radosgw.sh run [--dir DIR] -- CMD ARG...   start, run CMD with the variables below, stop
#   radosgw.sh start [--dir DIR]               start and print the variables: eval "$(... start)"
#   radosgw.sh with [--dir DIR] -- CMD ARG...  run CMD with those of a started one, if there is one
#   radosgw.sh stop [--dir DIR]                stop what start has started, remove its files
#
# CMD sees AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and
# S3LECT_TEST_BUCKET (a bucket that exists). run returns CMD's exit status, and always stops the
# store. Exit 77 if Ceph is not installed. DIR holds all state (default: one per user under
# ${TMPDIR:-/tmp} for start, a fresh one for run). Stores in different folders can run at the same
# time; files that a killed run has left in DIR are removed.
#
# This Ceph (16.2) accepts If-Match on a PUT only without quotes. There is no manager daemon, since
# no S3 request needs one.
set -euo pipefail

user=test secret=testtest region=us-east-1 bucket=s3lect-test
attempts=3         # of the whole start, as somebody may take a port between our choice and our bind
ready_seconds=60   # for one daemon to answer; it takes well under one second on an idle machine

say() { echo "radosgw: $*" >&2; }

usage() {
  sed -n '5,8s/^# \{0,3\}//p' "$0" >&2
  exit 2
}

# --- processes -----------------------------------------------------------------------------------

# True if PID runs and was started by us in DIR: a pid file may outlive its process, and the
# number may then belong to somebody else.
ours() { # PID
  { tr '\0' '\n' <"/proc/$1/cmdline"; } 2>/dev/null | grep -qxF "$dir/ceph.conf"
}

# Starts a daemon in the foreground mode of Ceph, so that its pid is the one we know. With run it
# dies with this script, even if that is killed; with start it has its own session and stays.
launch() { # NAME COMMAND...
  local name=$1 keep=(setsid)
  shift
  [ "$verb" = start ] || keep=(setpriv --pdeathsig KILL)
  "${keep[@]}" "$@" -c "$dir/ceph.conf" -f </dev/null >"$dir/$name.out" 2>&1 &
  echo $! >"$dir/$name.pid"
  disown $!
}

stop_daemons() {
  local file pid
  for file in "$dir"/*.pid; do
    [ -e "$file" ] || continue
    pid=$(<"$file")
    # Nothing of it is to be kept, so there is nothing that a gentle end would be good for.
    if ours "$pid"; then
      kill -KILL "$pid" 2>/dev/null || true
      while ours "$pid"; do sleep 0.01; done
    fi
    rm -f "$file"
  done
}

# Polls until COMMAND succeeds; fails early when the daemon has died.
wait_for() { # NAME COMMAND...
  local pid end=$((SECONDS + ready_seconds))
  pid=$(<"$dir/$1.pid")
  shift
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
      return 1
    fi
    sleep 0.02
  done
}

# --- the cluster ---------------------------------------------------------------------------------

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port that nobody listens on, below the range from which the kernel takes client ports.
free_port() {
  local port
  for _ in {1..100}; do
    port=$((20000 + (RANDOM << 15 | RANDOM) % 12000))
    answers "$port" || { echo "$port"; return; }
  done
  return 1
}

write_conf() { # FSID MON_PORT S3_PORT
  cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $1
mon host = [v2:127.0.0.1:$2]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
keyring = $dir/keyring
run dir = $dir
admin socket =
log file = $dir/\$type.log
log to stderr = false
mon data = $dir/mon
mon data avail warn = 0
mon data avail crit = 0
mon allow pool size one = true
mon client hunt interval = 0.2
paxos propose interval = 0.02
paxos min wait = 0.01
osd data = $dir/osd
osd objectstore = memstore
memstore device bytes = 536870912
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
rgw frontends = beast endpoint=127.0.0.1:$3 tcp_nodelay=1
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
rgw thread pool size = 64
CONF
}

# PUT with an empty body, signed by curl; prints the status. For the bucket, and to see that the
# store serves writes.
signed_put() { # URL
  curl -s -o "$dir/put.out" -w '%{http_code}' -m 20 -X PUT --data-binary '' \
    --aws-sigv4 "aws:amz:$region:s3" --user "$user:$secret" \
    -H "x-amz-content-sha256: $(sha256sum </dev/null | cut -d' ' -f1)" "$1"
}

# Called in a condition, where errexit is off: each step says itself what its failure means.
bring_up() {
  local fsid osd mon_port s3_port endpoint
  fsid=$(</proc/sys/kernel/random/uuid)
  osd=$(</proc/sys/kernel/random/uuid)
  mon_port=$(free_port) || return 1
  s3_port=$(free_port) || return 1
  endpoint=http://127.0.0.1:$s3_port
  mkdir -p "$dir/mon" "$dir/osd" && write_conf "$fsid" "$mon_port" "$s3_port" || return 1

  local all=(--cap mon 'allow *' --cap osd 'allow *')
  {
    ceph-authtool -C "$dir/keyring" --gen-key -n mon. --cap mon 'allow *' &&
    ceph-authtool "$dir/keyring" --gen-key -n client.admin "${all[@]}" &&
    ceph-authtool "$dir/keyring" --gen-key -n osd.0 "${all[@]}" &&
    monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$mon_port]" "$dir/monmap" &&
    ceph-mon -c "$dir/ceph.conf" -i a --mkfs --monmap "$dir/monmap" --keyring "$dir/keyring"
  } >"$dir/mkfs.out" 2>&1 || return 1
  launch mon ceph-mon -i a
  wait_for mon answers "$mon_port" || return 1

  {
    timeout $ready_seconds ceph -c "$dir/ceph.conf" osd new "$osd" &&
    ceph-osd -c "$dir/ceph.conf" -i 0 --mkfs --osd-uuid "$osd"
  } >>"$dir/mkfs.out" 2>&1 || return 1
  launch osd ceph-osd -i 0

  timeout $ready_seconds radosgw-admin -c "$dir/ceph.conf" user create --uid "$user" \
    --display-name "$user" --access-key "$user" --secret-key "$secret" >"$dir/user.out" 2>&1 || return 1
  launch rgw radosgw -n client.admin
  wait_for rgw answers "$s3_port" || return 1
  # The first write creates the pool of the data, so that CMD's own first one is like the others.
  [ "$(signed_put "$endpoint/$bucket")" = 200 ] || return 1
  [ "$(signed_put "$endpoint/$bucket/ready")" = 200 ] || return 1

  cat >"$dir/env" <<ENV
export AWS_ENDPOINT_URL_S3=$endpoint
export AWS_ACCESS_KEY_ID=$user
export AWS_SECRET_ACCESS_KEY=$secret
export AWS_REGION=$region
export S3LECT_TEST_BUCKET=$bucket
ENV
}

start() {
  local attempt file
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    clear_dir
    mkdir -p "$dir"
    echo $$ >"$dir/owner"
    if bring_up; then
      return
    fi
    say "start $attempt of $attempts failed"
  done
  for file in "$dir"/*.out "$dir"/*.log; do
    [ -s "$file" ] && { echo "--- $file"; tail -n 10 "$file" | cut -c -200; } >&2
  done
  clear_dir
  say "could not be started"
  exit 1
}

clear_dir() {
  if [ -e "$dir" ]; then
    # A wrong --dir must not cost anybody their files.
    if [ ! -f "$dir/owner" ] && [ -n "$(ls -A "$dir")" ]; then
      say "$dir is not a directory of mine"
      exit 2
    fi
    stop_daemons
    rm -rf "$dir"
  fi
}

# Directories that killed runs have left; their daemons have died with them.
clear_leftovers() {
  local dir owner
  for dir in "$prefix".*; do
    [ -f "$dir/owner" ] || continue
    owner=$(<"$dir/owner")
    kill -0 "$owner" 2>/dev/null || clear_dir
  done
}

# --- the command ---------------------------------------------------------------------------------

prefix=${TMPDIR:-/tmp}/s3lect-radosgw-$(id -u)
verb=${1:-}
[ $# -eq 0 ] || shift
dir=
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) [ $# -ge 2 ] || usage; dir=$2; shift 2 ;;
    --) shift; break ;;
    *) usage ;;
  esac
done
case "$verb" in
  run | with) [ $# -gt 0 ] || usage ;;
  start | stop) [ $# -eq 0 ] || usage ;;
  *) usage ;;
esac
[[ -z $dir || $dir == /* ]] || dir=$PWD/$dir

if [ "$verb" = run ] || [ "$verb" = start ]; then
  for tool in radosgw radosgw-admin ceph ceph-mon ceph-osd curl; do
    command -v $tool >/dev/null || { say "skipped: no $tool here (deps/install-debian.sh)"; exit 77; }
  done
fi

case "$verb" in
  run)
    clear_leftovers
    trap clear_dir EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    dir=${dir:-$(mktemp -d "$prefix.XXXXXX")}
    start
    status=0
    (source "$dir/env" && exec "$@") || status=$?
    exit $status
    ;;
  start)
    dir=${dir:-$prefix}
    if [ -f "$dir/env" ] && (source "$dir/env" && curl -sf -m 5 "$AWS_ENDPOINT_URL_S3" >/dev/null); then
      say "runs already in $dir"
    else
      start
    fi
    cat "$dir/env"
    ;;
  with)
    dir=${dir:-$prefix}
    # What the caller has set comes first: the same tests can be run against any store.
    if [ -z "${S3LECT_TEST_BUCKET:-}" ] && [ -f "$dir/env" ]; then
      source "$dir/env"
    fi
    exec "$@"
    ;;
  stop)
    dir=${dir:-$prefix}
    clear_dir
    ;;
esac
