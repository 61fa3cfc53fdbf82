#!/usr/bin/env bash
# Runs one libFuzzer target for a few seconds, from its hand-written inputs:
#
#   test/fuzz/run.sh PROGRAM CORPUS [WORK [DICTIONARY]]
#
# WORK (default: PROGRAM.work) keeps what the fuzzer finds to be of interest, and an input that
# failed (crash-..., to be given to PROGRAM as its argument). DICTIONARY is a file of words for the
# fuzzer to use, if it exists. S3LECT_FUZZ_SECONDS says for how long;
# else 2 seconds, or 120 with S3LECT_SOAK set. The seed is in the output: -seed=N repeats a run.
set -euo pipefail
program=$1
corpus=$2
work=${3:-$program.work}
seconds=${S3LECT_FUZZ_SECONDS:-$([ -n "${S3LECT_SOAK:-}" ] && echo 120 || echo 2)}
options=()
[ ! -f "${4:-}" ] || options=(-dict="$4")
mkdir -p "$work/corpus"
exec "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -error_exitcode=1 \
  -print_final_stats=1 -artifact_prefix="$work/" "${options[@]}" "$work/corpus" "$corpus"
