#!/usr/bin/env bash
# Checks the models with spin, exhaustively, and prints a table:
#   run.sh [MODEL...]          the quick set, two minutes in all on one core
#   run.sh --full [MODEL...]   larger ones as well: three electors of the lockfile too, finer time, more
#                              leaderships, crashes everywhere (longer, up to 8 GB of memory)
# MODEL: lockfile, peers (what a leader's promises may do), grant (a leader that resigns writes what a
# follower would lead by), epochs (epoch files: what is on its way), files (epoch files: their numbers,
# listings, claims, deletions); all of them if none is named.
# Each rule of the protocols is broken once (MUTANT_...), and spin must find what comes of it: a
# second leader, or an epoch that does not grow. WITNESS_... are situations that must be possible, so
# that a model in which nothing happens cannot pass. The last ones break an assumption instead of a
# rule, to show where the promise ends. Exit 1 if anything is not as expected, 77 without spin or gcc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

full=${S3LECT_SOAK:+true}
models=
for word in "$@"; do
  case "$word" in
    --full) full=true ;;
    lockfile | peers | grant | epochs | files) models="$models $word" ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "usage: ${0##*/} [--full] [lockfile] [peers] [grant] [epochs] [files]" >&2; exit 2 ;;
  esac
done
for tool in spin gcc; do
  command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unexpected=0 rows=0
small="EXACT T=2 K=1 EMAX=2 NO_CRASH"
memory_mb=2000 compress=
format='%-9s %-68s %5s %11s %9s %6s %7s %6s  %s\n'
TIMEFORMAT='%U %S'

# row MODEL EXPECTED DEFINITIONS [LEVEL]: EXPECTED is ok, leaders (a second one), epochs (one that does
# not grow), or met (a situation that must be possible). LEVEL is gcc's: most searches that end with a
# find are so short that compiling is what takes time.
row() {
  local model=$1 expected=$2 definitions=$3 options=() found states depth errors nodes verdict word
  local seconds mb
  [[ -z "$models" || " $models " == *" $model "* ]] || return 0
  for word in $definitions; do
    options+=("-D$word")
  done
  local level=-O0
  [ "$expected" != ok ] || level=-O2
  level=${4:-$level}
  {
    time {
      spin -a "${options[@]}" "$here/$model.pml" >spin.out 2>&1 || { cat spin.out; exit 1; }
      gcc -w $level -DSAFETY $compress -DMEMLIM=$memory_mb -o pan pan.c
      ./pan -m3000000 -w23 >pan.out 2>&1 || true
    }
  } 2>times

  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
  depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out)
  seconds=$(awk '{ printf "%.1f", $1 + $2 }' times)
  mb=$(sed -n 's/^ *\([0-9]*\)[0-9.]*[[:space:]]*total actual memory usage.*/\1/p' pan.out)
  case "$(cat pan.out)" in
    *"max search depth too small"* | *"out of memory"* | *MEMLIM*) found="not explored wholly" ;;
    *"violated (led[i]>epochs)"* | *"violated (epoch>epochs)"* | *"violated (ep[id]>epochs)"* | \
      *"violated (ve"*"[i]>epochs)"*) found=epochs ;;
    *"violated ((j==i)"*) found=leaders ;;
    *"assertion violated"*) found=met ;;
    *"Search not completed"*) found="not explored wholly" ;;
    *"errors: 0"*) found=ok ;;
    *) found="no result" ;;
  esac
  case "$found" in
    ok) verdict="holds" ;;
    leaders) verdict="second leader" ;;
    epochs) verdict="epoch does not grow" ;;
    met) verdict="is possible" ;;
    *) verdict=$found ;;
  esac
  if [ "$found" != "$expected" ]; then
    verdict="$verdict: UNEXPECTED"
    unexpected=$((unexpected + 1))
  fi
  rows=$((rows + 1))
  nodes=$(sed -n 's/.*\bN=\([0-9]\).*/\1/p' <<<"$definitions")
  # shellcheck disable=SC2059
  printf "$format" "$model" "$definitions" "${nodes:-2}" "${states:--}" "${depth:--}" "${errors:--}" \
    "$seconds" "${mb:--}" "$verdict"
}

# shellcheck disable=SC2059
printf "$format" model variant nodes states depth errors cpu-s MB verdict

# Of the lockfile's epochs the first is that of a claim, which nobody leads.
one_more="EXACT T=2 K=1 EMAX=3 NO_CRASH"
row lockfile ok "T=3 K=1 EMAX=3 NO_CRASH"
row lockfile ok "EXACT T=2 K=2 EMAX=3" -O0
row lockfile ok "EXACT T=2 K=1 EMAX=3 NO_CRASH DELETE=1"
for mutant in LEASE_FROM_REPLY KEEP_OBSERVATION NO_SELF_STOP RELEASE_FIRST NO_CAS BLIND WALL_CLOCK; do
  row lockfile leaders "$one_more MUTANT_$mutant"
done
row lockfile leaders "T=3 K=1 EMAX=3 NO_CRASH MUTANT_NO_MARGIN"
row lockfile epochs "$one_more MUTANT_RESUME"
row lockfile epochs "$one_more MUTANT_SAME_EPOCH"
for witness in 1 2 3; do
  row lockfile met "$one_more WITNESS=$witness"
done
row lockfile leaders "T=3 K=1 EMAX=3 NO_CRASH MUTANT_WILD_CLOCK"
row lockfile leaders "$small DELETE=1 MUTANT_LEAD_FIRST"
row lockfile epochs "$small DELETE=1 MUTANT_CLAIM_LED"

row epochs ok "T=3 K=1 EMAX=2 NO_CRASH"
row epochs ok "EXACT T=2 K=2 EMAX=2 NO_CRASH"
row epochs ok "EXACT T=2 K=1 EMAX=3"
for mutant in LEASE_FROM_REPLY KEEP_OBSERVATION NO_SELF_STOP RELEASE_FIRST OVERWRITE NO_CONFIRM \
  READ_BEFORE; do
  row epochs leaders "$small MUTANT_$mutant"
done
row epochs leaders "T=3 K=1 EMAX=2 NO_CRASH MUTANT_NO_MARGIN" -O2
row epochs leaders "EXACT T=2 K=1 EMAX=3 NO_CRASH MUTANT_LATE_COUNTS"
for witness in 1 2 3; do
  row epochs met "$small WITNESS=$witness"
done
row epochs leaders "T=3 K=1 EMAX=2 NO_CRASH MUTANT_WILD_CLOCK"

row peers ok "EXACT T=2 EMAX=3"
row peers ok "T=3 EMAX=2 NO_CRASH" -O0
for mutant in PROMISE_OF_BEFORE HINT_IS_PROMISE NO_CAS; do
  row peers leaders "EXACT T=2 EMAX=3 NO_CRASH MUTANT_$mutant"
done
row peers leaders "EXACT T=2 EMAX=4 NO_CRASH MUTANT_PROMISE_OF_ANOTHER"
row peers leaders "T=3 EMAX=3 NO_CRASH MUTANT_PROMISE_NO_DRIFT" -O2
for witness in 1 2 3 4 5 6; do
  row peers met "EXACT T=2 EMAX=3 NO_CRASH WITNESS=$witness"
done

row grant ok "EXACT T=2 EMAX=3"
row grant ok "T=3 EMAX=3 NO_CRASH"
for mutant in UNCONFIRMED GRANT_FIRST NUMBER_KEPT LEASE_FROM_ANSWER NO_CAS; do
  row grant leaders "EXACT T=2 EMAX=3 NO_CRASH MUTANT_$mutant"
done
row grant leaders "T=3 EMAX=3 NO_CRASH MUTANT_NO_MARGIN"
row grant epochs "EXACT T=2 EMAX=3 NO_CRASH MUTANT_OLD_QUESTION"
for witness in 1 2 3 4 5 6; do
  row grant met "EXACT T=2 EMAX=3 NO_CRASH WITNESS=$witness"
done

# Of the files the first is that of a leader who has died.
row files ok "EXACT F=3" -O0
row files ok "EXACT F=3 NO_CRASH HAND=1" -O0
# The look before the create and the one after it: each of them is enough for what is not deleted.
row files ok "EXACT F=3 NO_CRASH MUTANT_NO_CONFIRM" -O0
row files leaders "EXACT F=3 NO_CRASH MUTANT_NO_CONFIRM MUTANT_BASE_UNSEEN"
row files leaders "EXACT F=3 NO_CRASH DELETE=1 MUTANT_BASE_UNSEEN"
row files met "EXACT F=3 NO_CRASH WITNESS=2"
row files met "EXACT F=3 NO_CRASH WITNESS=3"
row files met "EXACT F=3 NO_CRASH WITNESS=4"
row files met "EXACT F=3 NO_CRASH DELETE=1 WITNESS=5"
row files met "EXACT F=4 NO_CRASH SWEEP WITNESS=6"

if [ -n "$full" ]; then
  memory_mb=8000 compress=-DCOLLAPSE
  row lockfile ok "T=3 K=1 EMAX=2"
  row lockfile ok "T=3 K=2 EMAX=2"
  row lockfile ok "T=3 K=1 EMAX=3"
  row lockfile ok "T=4 K=1 EMAX=2"
  row lockfile ok "T=3 K=1 EMAX=3 NO_CRASH DELETE=1"
  row lockfile ok "EXACT T=2 K=1 EMAX=4 NO_CRASH DELETE=2"
  row lockfile ok "N=3 EXACT T=2 K=1 EMAX=2"
  row lockfile ok "N=3 EXACT T=3 K=1 EMAX=2 NO_CRASH"
  row epochs ok "N=3 EXACT T=2 K=1 EMAX=2 NO_CRASH"
  row epochs leaders "EXACT T=2 K=2 EMAX=2 NO_CRASH MUTANT_ETAG_ONLY" -O2
  row epochs ok "T=3 K=1 EMAX=2"
  row epochs ok "T=3 K=2 EMAX=2 NO_CRASH"
  row epochs ok "T=3 K=1 EMAX=3"
  row epochs ok "T=4 K=1 EMAX=2"
  row epochs ok "N=3 EXACT T=2 K=1 EMAX=2"
  row epochs ok "N=3 EXACT T=3 K=1 EMAX=2 NO_CRASH"
  row peers ok "T=3 EMAX=3 NO_CRASH"
  row peers ok "EXACT T=2 EMAX=4 NO_CRASH"
  row grant ok "T=3 EMAX=3"
  row grant ok "EXACT T=2 EMAX=4"
  row grant ok "N=3 EXACT T=2 EMAX=3 NO_CRASH"
  # All files, or the newest alone, may be deleted; the mutants after it are its counterpart.
  row files ok "EXACT F=4 NO_CRASH"
  row files ok "EXACT F=3 NO_CRASH DELETE=1 DELETE_ONE"
  row files leaders "EXACT F=3 NO_CRASH DELETE=1 MUTANT_UNCHECKED" -O2
  row files leaders "EXACT F=3 NO_CRASH DELETE=1 MUTANT_CLAIM_LED" -O2
  row files epochs "EXACT F=3 NO_CRASH DELETE=1 DELETE_ONE MUTANT_FORGOTTEN"
  row files leaders "EXACT F=3 NO_CRASH DELETE=1 DELETE_ONE MUTANT_TAKEN_NUMBER" -O2
  row files ok "EXACT F=3 NO_CRASH PROMISE"
  row files met "EXACT F=3 NO_CRASH PROMISE WITNESS=7"
  row files met "EXACT F=3 NO_CRASH DELETE=1 WITNESS=8" -O2
  row files ok "EXACT F=3 NO_CRASH DELETE=1 DELETE_SOON"
  row files ok "EXACT F=4 NO_CRASH DELETE=1"
  row files ok "EXACT F=3 DELETE=1 DELETE_ONE"
  row files ok "EXACT F=3 NO_CRASH START=0 DELETE=1"
  row files ok "EXACT F=4 NO_CRASH HAND=1"
  row files ok "EXACT F=4 NO_CRASH SWEEP"
  row files epochs "EXACT F=3 NO_CRASH DELETE=1 DELETE_ONE MUTANT_GAP_UNSEEN" -O2
  row files epochs "EXACT F=3 NO_CRASH START=2 DELETE=1 DELETE_ONE MUTANT_UNWATCHED" -O2
  row files leaders "EXACT F=4 NO_CRASH HAND=1 MUTANT_UNLISTED" -O2
  row files leaders "EXACT F=4 NO_CRASH HAND=1 MUTANT_FOREIGN_RELEASE" -O2
  row files leaders "EXACT F=3 NO_CRASH PROMISE MUTANT_PROMISE" -O2
  row files leaders "EXACT F=4 NO_CRASH SWEEP MUTANT_SWEEP_YOUNG MUTANT_SWEEP_NEWEST" -O2
  row files leaders "EXACT F=4 NO_CRASH DELETE=1 DELETE_SOON MUTANT_NO_CLAIM_WAIT" -O2
  row files epochs "EXACT F=4 NO_CRASH DELETE=1 MUTANT_ABSENCE_WATCHED" -O2
  # The assumption about the time between the newest file's creation and its deletion.
  row files epochs "EXACT F=4 NO_CRASH DELETE=1 DELETE_SOON" -O2
fi

if [ $unexpected -gt 0 ]; then
  echo "$unexpected of $rows are not as expected"
  exit 1
fi
echo "all $rows as expected"
