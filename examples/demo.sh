#!/usr/bin/env bash
# Three processes elect a leader, lose it, and elect another: watch it.
#
#   examples/demo.sh                   on a fake S3 that it starts itself
#   examples/demo.sh --tls             the same over TLS
#   examples/demo.sh --protocol epochs the same with one object per leadership, on a fake S3 that
#                                      has no If-Match
#   examples/demo.sh --endpoint URL --store s3://BUCKET/KEY
#                                      on any S3 store; keys and region come from AWS_* variables
#   examples/demo.sh --store s3://BUCKET/KEY
#                                      on AWS, or where AWS_ENDPOINT_URL_S3 points to
#   examples/demo.sh --keep            keep the logs
#   examples/demo.sh --installed       with the installed s3lect and s3lect-fakes3
#
# Installs what is missing (Debian) and builds, except with --installed. Exits with 0 only if every step
# succeeds: an election, a fail-over after kill -9, a hand-over after SIGTERM, and an outage of the store
# that lasts longer than the leader timeout. At no time may two of them lead. README.md shows the output.
set -Eeuo pipefail

nodes=(node-1 node-2 node-3)
patience=60 # seconds that any step may take before the demo gives up

fail() { # MESSAGE...
  failed=true
  say demo "$red" "FAILED: $*"
  exit 1
}

# --- options -------------------------------------------------------------------------------------

s3lect=build/release/src/s3lect fakes3=build/release/test/fakes3/s3lect-fakes3
tls=false keep=false installed=false endpoint='' store='' protocol=lockfile
need() { [ $# -ge 2 ] && [ -n "$2" ] || { echo "${0##*/}: $1 needs a value (see --help)" >&2; exit 2; }; }
while [ $# -gt 0 ]; do
  case "$1" in
    --tls) tls=true ;;
    --keep) keep=true ;;
    --installed) installed=true s3lect=s3lect fakes3=s3lect-fakes3 ;;
    --endpoint) need "$@"; endpoint=$2; shift ;;
    --endpoint=*) endpoint=${1#*=} ;;
    --store) need "$@"; store=$2; shift ;;
    --store=*) store=${1#*=} ;;
    --protocol) need "$@"; protocol=$2; shift ;;
    --protocol=*) protocol=${1#*=} ;;
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "${0##*/}: unknown option $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
case "$protocol" in
  lockfile) what=lockfile each=$what object=leader.json waits="a leader timeout" ;;
  epochs) what="epoch file" each="file per leadership" object=leaders/ waits="two leader timeouts" ;;
  *) echo "${0##*/}: --protocol $protocol is unknown: lockfile or epochs" >&2; exit 2 ;;
esac
# Under test/stores/radosgw.sh run, the store is the one that it has started.
if [ -z "$store$endpoint" ] && ! $tls && [ -n "${S3LECT_TEST_BUCKET:-}" ]; then
  endpoint=${AWS_ENDPOINT_URL_S3:-}
fi
[ -n "$endpoint" ] || [ -z "$store" ] || endpoint=${AWS_ENDPOINT_URL_S3:-${AWS_ENDPOINT_URL:-}}
if [ -n "$endpoint" ] && [ -z "$store" ] && [ -n "${S3LECT_TEST_BUCKET:-}" ]; then
  store=s3://$S3LECT_TEST_BUCKET/s3lect-demo-$$-$object
fi
if [ -n "$endpoint" ] && [ -z "$store" ]; then
  echo "${0##*/}: --endpoint needs --store s3://BUCKET/KEY (the bucket must exist)" >&2
  exit 2
fi
if $tls && [ -n "$store" ]; then
  echo "${0##*/}: --tls is for the demo's own store; an https:// endpoint is TLS already" >&2
  exit 2
fi

# How the outage is made: our own store, or a relay before a plain-HTTP one, is paused. Between us
# and an https:// store nothing of ours can stand, as the certificate is for the store's name.
if [ -z "$store" ]; then
  mode=fake leader_timeout=3000 look=1s
  timing=(--renew 500ms --frequent 300ms --infrequent "$look" --request-timeout 800ms)
else
  mode=relay leader_timeout=6000 look=2s
  timing=(--renew 1s --frequent 500ms --infrequent "$look" --request-timeout 2s)
  [[ $endpoint == http://* ]] || mode=pause-leader
fi
# A renewal of an epoch file is two requests, which must fit into the leader timeout one by one.
[ "$protocol" = lockfile ] || timing[-1]=$((leader_timeout / 5))ms

# --- the screen ----------------------------------------------------------------------------------

bold='' dim='' red='' green='' yellow='' blue='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' yellow=$'\e[33m' blue=$'\e[34m' plain=$'\e[0m'
fi

# CLOCK_BOOTTIME in ms, the clock of the events; /proc/uptime has it in hundredths of a second.
now_ms() {
  local up rest
  read -r up rest </proc/uptime
  REPLY=$((10#${up/./} * 10))
}

seconds() { # MS: "12.34 s"
  local ms=$(($1 < 0 ? 0 : $1))
  printf -v REPLY '%d.%02d s' $((ms / 1000)) $((ms % 1000 / 10))
}

now_ms
t0=$REPLY

say_at() { # MS WHO COLOR TEXT
  seconds $(($1 - t0))
  printf '%s%9s%s  %-7s %s%s%s\n' "$dim" "$REPLY" "$plain" "$2" "$3" "$4" "$plain"
}
say() { # WHO COLOR TEXT
  now_ms
  say_at "$REPLY" "$@"
}
note() { printf '%19s%s%s%s\n' '' "$dim" "$*" "$plain"; }
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# --- processes -----------------------------------------------------------------------------------

dir='' failed=false fake_pid='' relay_pid=''
declare -A pid=() # of each node that runs

# Ends what this script has started, each by its pid; SIGCONT and SIGKILL also end what is paused.
cleanup() {
  local status=$? p
  trap '' INT TERM EXIT
  for p in "${pid[@]}" $fake_pid $relay_pid; do
    kill -KILL "$p" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  if [ -n "$dir" ]; then
    if [ "$status" -ne 0 ] && [ "$status" -ne 130 ] || $keep; then
      echo "logs: $dir"
    else
      rm -rf "$dir"
    fi
  fi
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'echo "demo: line $LINENO: $BASH_COMMAND" >&2' ERR

launch() { # NODE
  "$s3lect" elect --id "$1" "${common[@]}" \
    --leader-timeout "${leader_timeout}ms" "${timing[@]}" >&"$events" 2>>"$dir/stderr" &
  pid[$1]=$!
  disown "${pid[$1]}"
}

# Waits until a program has written its address into a file.
await_file() { # PID FILE
  while [ ! -s "$2" ]; do
    kill -0 "$1" 2>/dev/null || { cat "$dir/stderr" >&2; fail "${2##*/} does not start"; }
    sleep 0.02
  done
}

# --- events --------------------------------------------------------------------------------------

leader=''                # who leads, as far as the events tell
declare -A began=()      # of who leads or did: when its latest leadership began, in ns
declare -A until_ns=()   # ... and until when it holds, or when it ended
declare -A renewals=()   # ... and how often it was renewed
declare -A told=()       # errors that were shown in this step
outage=false             # the store is silent: errors are expected, and not shown
leaderships=()           # all of them: "BEGIN END NODE", in ns
started_ms=0 stopped_ms=0 stopped_by='' stop_late_ms=0 # of the latest such events
declare -A follows=()    # whom each node follows

field() { # LINE NAME
  REPLY=${1#*\""$2"\":}
  if [ "${REPLY:0:1}" = '"' ]; then
    REPLY=${REPLY:1}
    REPLY=${REPLY%%\"*}
  else
    REPLY=${REPLY%%[,\}]*}
  fi
}

close_leadership() { # NODE
  [ -n "${began[$1]:-}" ] || return 0
  leaderships+=("${began[$1]} ${until_ns[$1]} $1")
  began[$1]=''
}

on_started() { # NODE LINE AT_NS UNTIL_NS
  field "$2" epoch
  leader=$1
  began[$1]=$3 until_ns[$1]=$4 renewals[$1]=0
  started_ms=$(($3 / 1000000))
  say_at "$started_ms" "$1" "$green" "leads, epoch $REPLY"
}

on_stopped() { # NODE LINE AT_NS ENDED_NS
  field "$2" reason
  until_ns[$1]=$4
  stopped_by=$REPLY
  stopped_ms=$(($4 / 1000000))
  stop_late_ms=$((($3 - $4) / 1000000))
  say_at $(($3 / 1000000)) "$1" "$yellow" "stops leading ($stopped_by), after ${renewals[$1]} renewals"
  close_leadership "$1"
  [ "$leader" != "$1" ] || leader=''
}

on_new_leader() { # NODE LINE
  field "$2" leader
  follows[$1]=$REPLY
}

on_error() { # NODE LINE AT_NS
  local name text=${2#*\"message\":\"}
  text=${text%\",\"boottime_ns\"*}
  field "$2" error
  name=$REPLY
  ! $outage || return 0
  [ -z "${told[$1 $name]:-}" ] || return 0
  told[$1 $name]=1
  say_at $(($3 / 1000000)) "$1" "$dim" "error $name: $text"
}

on_event() { # LINE
  local node at ending
  printf '%s\n' "$1" >>"$dir/events"
  field "$1" id; node=$REPLY
  field "$1" boottime_ns; at=$REPLY
  field "$1" lease_ns
  # NTP sets the one clock, but not the other: by how much they differ is read once.
  clocks_apart=${clocks_apart:-$((at - REPLY))}
  at=$((REPLY + clocks_apart))
  field "$1" valid_until_ns; ending=$((REPLY + clocks_apart))
  field "$1" event
  case "$REPLY" in
    started_leading) on_started "$node" "$1" "$at" "$ending" ;;
    stopped_leading) on_stopped "$node" "$1" "$at" "$ending" ;;
    renewed) until_ns[$node]=$ending renewals[$node]=$((renewals[$node] + 1)) ;;
    new_leader) on_new_leader "$node" "$1" ;;
    error) on_error "$node" "$1" "$at" ;;
  esac
}

# Reads events until a condition holds.
await() { # WHAT CONDITION...
  local what=$1 line limit=$((SECONDS + patience)) node
  shift
  until "$@"; do
    if IFS= read -r -t 0.1 -u "$events" line; then
      on_event "$line"
    fi
    for node in "${!pid[@]}"; do
      kill -0 "${pid[$node]}" 2>/dev/null || { cat "$dir/stderr" >&2; fail "$node has ended by itself"; }
    done
    [ "$SECONDS" -lt "$limit" ] || fail "$what: did not happen within $patience s"
  done
}

somebody_leads() { [ -n "$leader" ]; }
nobody_leads() { [ -z "$leader" ]; }
renewed_twice() { [ -n "$leader" ] && [ "${renewals[$leader]}" -ge 2 ]; }
another_leads() { [ -n "$leader" ] && [ "$leader" != "$1" ]; }
after() { now_ms; [ "$REPLY" -ge "$1" ]; }
# Everybody but the leader has learnt who that is.
all_follow() {
  local node
  [ -n "$leader" ] || return 1
  for node in "${!pid[@]}"; do
    [ "$node" = "$leader" ] || [ "${follows[$node]:-}" = "$leader" ] || return 1
  done
}

settle() { # Lets a leader renew and the others find it.
  local node followers=()
  await "a settled leadership" renewed_twice
  await "followers" all_follow
  for node in "${nodes[@]}"; do
    [ "$node" = "$leader" ] || followers+=("$node")
  done
  say demo "$blue" "${followers[0]} and ${followers[1]} follow $leader"
}

# --- the table -----------------------------------------------------------------------------------

rows=()
row() { # WHAT TOOK REMARK
  rows+=("$1"$'\t'"$2"$'\t'"$3")
}

# Sorts all leaderships by their beginning; each must begin after every earlier one has ended.
count_overlaps() {
  local begin ending node last=0 holder='' overlaps=0
  while read -r begin ending node; do
    if [ "$begin" -lt "$last" ]; then
      overlaps=$((overlaps + 1))
      say demo "$red" "$node began to lead while $holder still led"
    fi
    [ "$ending" -le "$last" ] || { last=$ending; holder=$node; }
  done < <(printf '%s\n' "${leaderships[@]}" | sort -n)
  REPLY=$overlaps
}

# --- setting up ----------------------------------------------------------------------------------

dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-demo.XXXXXX")
if ! $installed; then
  cd "$(dirname "$0")/.."
  deps/install-debian.sh build
  echo "building (build/release) ..."
  if ! { cmake --preset release && cmake --build --preset release --parallel "$(nproc)" \
    --target s3lect_cli s3lect-fakes3; } >"$dir/build.log" 2>&1; then
    tail -n 30 "$dir/build.log" >&2
    echo "demo: the build failed" >&2
    exit 1
  fi
fi

# All three write into one pipe, a line at a time; this script holds both ends, so it never ends.
mkfifo "$dir/pipe"
exec {events}<>"$dir/pipe"
: >"$dir/stderr"

common=()
case "$mode" in
  fake)
    options=()
    ! $tls || options=(--tls-self "$dir")
    [ "$protocol" = lockfile ] || options+=(--fault '{"no_if_match":true}')
    "$fakes3" --port 0 --die-with-parent \
      --ready-file "$dir/fakes3" "${options[@]}" \
      >"$dir/fakes3.log" 2>>"$dir/stderr" {events}>&- &
    fake_pid=$!
    disown "$fake_pid"
    await_file "$fake_pid" "$dir/fakes3"
    endpoint=$(head -n 1 "$dir/fakes3")
    store=s3://demo/$object
    export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest AWS_REGION=us-east-1
    unset AWS_SESSION_TOKEN
    ! $tls || common+=(--ca-file "$dir/ca.pem")
    paused_pid=$fake_pid
    about="a fake S3 at $endpoint"
    [ "$protocol" = lockfile ] || about+=", which has no If-Match"
    ;;
  relay)
    address=${endpoint#http://}
    address=${address%%/*}
    [[ $address == *:* ]] || address=$address:80
    "$fakes3" --relay-to "$address" --ready-file "$dir/relay" \
      2>>"$dir/stderr" {events}>&- &
    relay_pid=$!
    disown "$relay_pid"
    await_file "$relay_pid" "$dir/relay"
    about="$endpoint, through a relay that can be paused"
    endpoint=$(head -n 1 "$dir/relay")
    paused_pid=$relay_pid
    ;;
  pause-leader)
    about=${endpoint:-AWS}
    ;;
esac
common+=(--store "$store" --protocol "$protocol")
[ -z "$endpoint" ] || common+=(--endpoint "$endpoint")

# --- the demo ------------------------------------------------------------------------------------

now_ms
t0=$REPLY
printf '\n%s%d processes elect a leader; one %s%s\n' "$bold" "${#nodes[@]}" "$each" "$plain"
printf 'store: %s, on %s\n' "$store" "$about"
printf 'leader timeout: %d s; a follower reads the store every %s\n' $((leader_timeout / 1000)) "${look/s/ s}"

before=$("$s3lect" status "${common[@]}" 2>&1) && code=0 || code=$?
case "$code" in
  3) ;;
  0) fail "somebody leads there already: $(head -n 1 <<<"$before")" ;;
  *) fail "$before" ;;
esac

step "1. Election"
say demo "" "$before; starts ${nodes[*]}"
if [[ $before == *"no $what"* ]]; then
  note "A missing $what may have been deleted under an active leader, so the"
  note "first candidate that writes one waits for $waits before it leads."
fi
now_ms; began_ms=$REPLY
for node in "${nodes[@]}"; do launch "$node"; done
await "an election" somebody_leads
seconds $((started_ms - began_ms))
remark=''
[[ $before != *"no $what"* ]] || remark="no $what before: $waits, and a second"
row "first election" "$REPLY" "$remark"
settle

step "2. The leader crashes"
told=()
victim=$leader
now_ms; began_ms=$REPLY
kill -KILL "${pid[$victim]}"
unset "pid[$victim]"
leader='' follows=()
# What it wrote before it died is still in the pipe, and moves its validity.
while IFS= read -r -t 0.05 -u "$events" line; do on_event "$line"; done
held_ms=$((until_ns[$victim] / 1000000))
close_leadership "$victim"
seconds $((held_ms - began_ms))
say_at "$began_ms" demo "$red" "kill -9 $victim; its lease ends in $REPLY; nobody may take over before"
await "a fail-over" another_leads "$victim"
seconds $((started_ms - held_ms))
beyond=$REPLY
seconds $((started_ms - began_ms))
row "crash of the leader: fail-over" "$REPLY" "$beyond after the end of its lease"
say demo "" "starts $victim again"
launch "$victim"
settle

step "3. The leader leaves"
told=()
leaving=$leader
say demo "$yellow" "SIGTERM to $leaving"
now_ms; began_ms=$REPLY
leaving_pid=${pid[$leaving]}
unset "pid[$leaving]"
follows=()
kill -TERM "$leaving_pid"
await "a hand-over" another_leads "$leaving"
seconds $((started_ms - began_ms))
row "SIGTERM to the leader: hand-over" "$REPLY" "it releases the $what, so nobody waits for a timeout"
for ((i = 0; i < patience * 50; i++)); do
  kill -0 "$leaving_pid" 2>/dev/null || break
  sleep 0.02
done
! kill -0 "$leaving_pid" 2>/dev/null || fail "$leaving does not exit"
say demo "" "starts $leaving again"
launch "$leaving"
settle

step "4. The store does not answer for longer than the leader timeout"
told=()
cut_off=$leader
now_ms; began_ms=$REPLY
back_ms=$((began_ms + leader_timeout + 2000))
if [ "$mode" = pause-leader ]; then
  note "The demo cannot pause a store behind https://, so it pauses the leader."
  say demo "$red" "pauses $cut_off (SIGSTOP)"
  kill -STOP "${pid[$cut_off]}"
  leader=''
  await "a fail-over" another_leads "$cut_off"
  heir=$leader
  taken_ms=$started_ms
  await "the end of the pause" after "$back_ms"
  say demo "$green" "lets $cut_off continue"
  kill -CONT "${pid[$cut_off]}"
  stopped_by=''
  has_stopped() { [ -n "$stopped_by" ]; }
  await "$cut_off to notice" has_stopped
  leader=$heir
  seconds $((taken_ms - began_ms))
  row "leader paused for $(((leader_timeout + 2000) / 1000)) s: fail-over" "$REPLY" "its first event says that its lease has ended"
  [ "$stopped_by" = expired ] || fail "$cut_off stopped for another reason: $stopped_by"
  [ "$stopped_ms" -le "$taken_ms" ] || fail "$cut_off held on for too long"
else
  say demo "$red" "pauses the store (SIGSTOP)"
  outage=true
  kill -STOP "$paused_pid"
  await "$cut_off to stop itself" nobody_leads
  [ "$stopped_by" = expired ] || fail "$cut_off stopped for another reason: $stopped_by"
  seconds $((stopped_ms - began_ms))
  row "store silent: the leader stops itself" "$REPLY" "$stop_late_ms ms after the end of its lease"
  await "the end of the outage" after "$back_ms"
  nobody_leads || fail "$leader leads without a store"
  say demo "$green" "lets the store continue"
  now_ms; began_ms=$REPLY
  follows=()
  kill -CONT "$paused_pid"
  await "a leader after the outage" somebody_leads
  seconds $((started_ms - began_ms))
  row "store back: a leader again" "$REPLY" ""
  outage=false
fi
settle

step "5. Everybody leaves"
told=()
final=("${pid[@]}")
for node in "${!pid[@]}"; do
  [ "$node" = "$leader" ] || kill -TERM "${pid[$node]}"
done
kill -TERM "${pid[$leader]}"
pid=()
await "the last leader to leave" nobody_leads
for p in "${final[@]}"; do
  for ((i = 0; i < patience * 50; i++)); do
    kill -0 "$p" 2>/dev/null || break
    sleep 0.02
  done
  ! kill -0 "$p" 2>/dev/null || fail "process $p does not exit"
done
after_all=$("$s3lect" status "${common[@]}" 2>&1) && code=0 || code=$?
say demo "" "$after_all"
[ "$code" -eq 3 ] || fail "the $what was not released"

count_overlaps
overlaps=$REPLY
row "two leaders at once" "$overlaps" "times in ${#leaderships[@]} leaderships, by one clock of all processes"

printf '\n%s%-37s %7s%s\n' "$bold" "what happened" "took" "$plain"
for r in "${rows[@]}"; do
  IFS=$'\t' read -r what took remark <<<"$r"
  printf '%-37s %7s%s\n' "$what" "$took" "${remark:+  $dim$remark$plain}"
done
echo
[ "$overlaps" -eq 0 ] || fail "two led at once"
echo "${green}Every step succeeded.${plain}"
[ "$mode" = fake ] || echo "$store remains, released."
