#!/usr/bin/env bash
# Counts what HTTP requests cost in user-space instructions, and runs the other benchmarks ("all":
# but for failover, which takes 12 minutes, scale, which takes 15, and others):
#
#   test/bench/run.sh [all|http|others|electors|scale|size|failover] [OPTION...]   options: s3lect-bench --help
#
# Builds the release preset first, unless S3LECT_BENCH names a program that is built. "http" needs
# valgrind; libcurl's part of it needs libcurl4-openssl-dev. "others" is "http" with other clients
# beside it, which cargo and go fetch and build: others/run.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

case "${1:-all}" in
  all | http | others | electors | scale | size | failover) ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
esac
which=${1:-all}
[ $# -eq 0 ] || shift

bench=${S3LECT_BENCH:-}
if [ -z "$bench" ]; then
  cmake --preset release --log-level=WARNING >/dev/null
  cmake --build --preset release --target s3lect-bench s3lect_stripped -- --quiet
  bench=build/release/test/bench/s3lect-bench
fi

# One dump per request; the median over the requests of a client is printed: now and then the loop's
# timer comes up within one, which then sorts deadlines for many.
http() {
  if ! command -v valgrind >/dev/null; then
    echo "http: skipped: no valgrind here"
    return
  fi
  local dir
  dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-bench.XXXXXX")
  if ! valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$dir/out" \
      "$bench" http "$@" >"$dir/log" 2>&1; then
    cat "$dir/log" >&2
    exit 1
  fi
  echo "One request over a warm connection, instructions in user space (callgrind):"
  # The last part of a dump's name is its number, in the order in which they were made.
  for dump in $(printf '%s\n' "$dir"/out.* | sort -t. -k3n); do
    awk '/^desc: Trigger: Client Request: /{sub(/^desc: Trigger: Client Request: /, ""); name = $0}
         /^(totals|summary): /{total = $2} END{if (name != "") print total "\t" name}' "$dump"
  done | awk -F '\t' '!($2 in n){order[++k] = $2} {v[$2, ++n[$2]] = $1}
      END{for (i = 1; i <= k; i++) printf "  %-40s %9d\n", order[i], median(order[i])}
      function median(of, j, l, swap) {
        for (j = 1; j <= n[of]; j++)
          for (l = j + 1; l <= n[of]; l++)
            if (v[of, l] < v[of, j]) {swap = v[of, j]; v[of, j] = v[of, l]; v[of, l] = swap}
        return v[of, int((n[of] + 1) / 2)]
      }'
  sed -n 's/^(\(libcurl.*\))$/  (\1)/p; /skipped/p' "$dir/log"
  # On one core: to wake another core costs more than a request does, and not always the same.
  echo "CPU of a request, without valgrind, three times many in a row, client and server on one core:"
  taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" "$bench" http "$@" | grep -v '^('
  if [ -n "${S3LECT_BENCH_KEEP:-}" ]; then
    echo "  (kept: $dir)"
  else
    rm -r "$dir"
  fi
}

if [ "$which" = http ] || [ "$which" = all ]; then
  http "$@"
fi
if [ "$which" = others ]; then
  http "$@"
  test/bench/others/run.sh "$bench"
fi
if [ "$which" = electors ]; then
  "$bench" electors "$@"
elif [ "$which" = all ]; then
  "$bench" electors --store memory
  "$bench" electors --store s3
fi
if [ "$which" = failover ] || [ "$which" = scale ]; then
  "$bench" "$which" "$@"
fi
if [ "$which" = size ] || [ "$which" = all ]; then
  echo "Size:"
  "$bench" size
fi
