#!/usr/bin/env bash
# Measures examples/tcp-proxy beside a direct connection and nginx's stream proxy, in one run:
#
#   test/bench/tcp-proxy.sh BUILD_DIR [ROUNDS]     BUILD_DIR as made by the release preset
#
# It measures small round trips and transfers of 1 MiB, over loopback: directly, through nginx (if
# Debian's nginx and libnginx-mod-stream are installed), through the leader's proxy, and through a
# follower's proxy, which makes two proxies. Budgets: docs/performance.md.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }

build=$(realpath "$1") rounds=${2:-50}
load=$build/test/bench/s3lect-proxy-load
proxy=$build/examples/tcp-proxy/example-tcp-proxy
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-bench.XXXXXX")
pids=()
clean() {
  trap '' EXIT INT TERM
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap clean EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# Reads what a program prints until a line has the text; the line is in $line.
await() { # FD TEXT
  while IFS= read -r -t 60 -u "$1" line; do
    [[ $line != *"$2"* ]] || return 0
  done
  echo "never printed: $2" >&2
  exit 1
}

exec {server}< <(exec "$load" serve)
pids+=($!)
await "$server" ""
backend=$line

start_proxy() { # ID: opens $out, sets $port
  exec {out}< <(exec "$proxy" --store "file://$dir/lock.json" --id "$1" --listen 127.0.0.1:0 \
    --backend "127.0.0.1:$backend" --leader-timeout 3s)
  pids+=($!)
  await "$out" "listening: clients"
  port=${line#*clients 127.0.0.1:}
  port=${port%%,*}
  await "$out" "open: "
}
start_proxy a
first=$port
start_proxy b
second=$port
ways=("direct=$backend")

# nginx takes no port 0, so it gets one that was free just now, by a server that is gone again; another
# program may have taken it since, then it fails to bind and gets the next one.
start_nginx() { # sets $port, or fails with what nginx said in $dir/nginx.log
  local gone
  exec {gone}< <(exec "$load" serve)
  local holder=$!
  await "$gone" ""
  port=$line
  kill "$holder"
  exec {gone}<&-
  cat >"$dir/nginx.conf" <<CONF
load_module $module;
daemon off;
worker_processes 1;
pid $dir/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
stream {
  server { listen 127.0.0.1:$port; tcp_nodelay on; proxy_pass 127.0.0.1:$backend; }
}
CONF
  nginx -p "$dir" -c "$dir/nginx.conf" 2>"$dir/nginx.log" &
  pids+=($!)
  local nginx=$!
  until [ -s "$dir/nginx.pid" ]; do
    kill -0 "$nginx" 2>/dev/null || { unset 'pids[-1]'; return 1; }
    read -r -t 0.05 <> <(:) || true
  done
}

module=/usr/lib/nginx/modules/ngx_stream_module.so
if command -v nginx >/dev/null && [ -e "$module" ]; then
  until start_nginx; do
    grep -q 'Address already in use' "$dir/nginx.log" || { cat "$dir/nginx.log" >&2; exit 1; }
  done
  ways+=("nginx=$port")
else
  echo "nginx: left out: no nginx with its stream module here"
fi
"$load" measure "$rounds" "${ways[@]}" "tcp-proxy=$first" "two tcp-proxies=$second"
