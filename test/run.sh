#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests:
#
#   test/run.sh            everything; the last lines are ctest's summary of the release build
#   test/run.sh --quick    the sanitized debug build and its tests only
#   test/run.sh --soak     everything, with the simulator, the models and the fuzzers run for longer,
#                          and ten minutes of peer mode for real
#   test/run.sh --help     this text
#
# What is run, each from scratch where it has not been built before:
#   dev      Debug, AddressSanitizer and UndefinedBehaviorSanitizer: all tests
#   tsan     Debug, ThreadSanitizer: the tests that have threads (ctest label tsan)
#   clang    optimised, built only: for clang's warnings
#   fuzz     clang's libFuzzer: each target of test/fuzz for a few seconds
#   release  optimised: all tests, and each of them under valgrind as well
# All builds treat warnings as errors. Tests that need a real S3 server start Ceph's radosgw by
# themselves. Builds are in build/<name>; "ctest --preset dev -R NAME" there runs one test.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

quick=false
for option in "$@"; do
  case "$option" in
    --quick) quick=true ;;
    --soak) export S3LECT_SOAK=1 ;;
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "${0##*/}: unknown option $option (see --help)" >&2; exit 2 ;;
  esac
done

stage="starting"
trap 'echo "test/run.sh: FAILED: $stage" >&2' ERR
announce() {
  stage=$*
  printf '\n==> %s (%d s)\n' "$stage" "$SECONDS"
}

build() { # PRESET
  announce "build $1"
  cmake --preset "$1" --log-level=WARNING >/dev/null
  cmake --build --preset "$1" --parallel "$(nproc)" -- --quiet
}

# Twice as many at a time as there are cores: most tests wait, for intervals and leader timeouts, and
# those that compute say so to ctest (PROCESSORS). A busy machine only slows them.
run_tests() { # PRESET CTEST_OPTION...
  announce "test $*"
  ctest --preset "$1" --parallel $((2 * $(nproc))) --no-tests=error "${@:2}"
  # What was simulated.
  grep -h '^seeds' "build/$1/Testing/Temporary/LastTest.log" || true
}

announce "install"
deps/install-debian.sh test
# Without a network it says so, and the one test that needs it is skipped.
deps/install-typescript.sh >/dev/null || [ $? -eq 77 ]

build dev
run_tests dev
if $quick; then
  exit 0
fi
build tsan
run_tests tsan -L '^tsan$'
build clang
build fuzz
run_tests fuzz
build release
run_tests release
