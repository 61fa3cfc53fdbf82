#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests:
#
#   test/run.sh            what a change needs: about ten minutes on two idle cores
#   test/run.sh --only=BUILD
#                          of that, one build and its tests only: dev, tsan, fuzz, release or clang
#   test/run.sh --quick    the same as --only=dev
#   test/run.sh --full     every test in both builds, each under valgrind as well; the simulator, the
#                          models and the fuzzers for longer; ten minutes of peer mode for real
#   test/run.sh --help     this text
#
# The builds, each from scratch where it has not been built before:
#   dev      Debug, AddressSanitizer and UndefinedBehaviorSanitizer: all tests of behaviour
#   tsan     Debug, ThreadSanitizer: the tests that have threads (ctest label tsan)
#   fuzz     clang's libFuzzer: each target of test/fuzz for a few seconds
#   release  optimised: what depends on that, or on no build (ctest label release): simulator, models,
#            benchmarks, what is installed; and the parsers and protocols under valgrind
#   clang    optimised, built only, with --full (the test clang-warnings finds clang's warnings otherwise)
# All builds treat warnings as errors. Tests that need a real S3 server start Ceph's radosgw by
# themselves. Builds are in build/<name>; "ctest --preset dev -R NAME" there runs one test.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

only='' full=false
for option in "$@"; do
  case "$option" in
    --quick) only=dev ;;
    --only=dev | --only=tsan | --only=fuzz | --only=release | --only=clang) only=${option#*=} ;;
    --full) full=true ;;
    -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "${0##*/}: unknown option $option (see --help)" >&2; exit 2 ;;
  esac
done
later=(tsan fuzz release) dev_tests=(-LE '^(release|full)$') release_tests=(-L '^release$' -LE '^full$')
if $full; then
  export S3LECT_SOAK=1
  later+=(clang) dev_tests=() release_tests=()
fi

stage="starting"
trap 'echo "test/run.sh: FAILED: $stage" >&2' ERR
announce() {
  stage=$*
  printf '\n==> %s (%d s)\n' "$stage" "$SECONDS"
}

build() { # PRESET
  cmake --preset "$1" --log-level=WARNING >/dev/null
  cmake --build --preset "$1" --parallel "$(nproc)" -- --quiet
}

# The builds that come after the tests of the first one: they take the time in which those wait.
build_later() {
  local preset
  renice -n 10 "$BASHPID" >/dev/null
  for preset in "${later[@]}"; do
    stage="build $preset"
    build "$preset"
  done
}

# Most tests wait, for intervals and leader timeouts, so that a core has five at a time. Those that
# compute take a core (s3lect_schedule in test/CMakeLists.txt). A busy machine only slows them.
run_tests() { # PRESET CTEST_OPTION...
  announce "test $1"
  ctest --preset "$1" --parallel $((5 * $(nproc))) --no-tests=error --no-label-summary "${@:2}"
  # What was simulated.
  grep -h '^seeds' "build/$1/Testing/Temporary/LastTest.log" || true
}

test_build() { # PRESET
  case "$1" in
    dev) run_tests dev "${dev_tests[@]}" ;;
    release) run_tests release "${release_tests[@]}" ;;
    clang) ;; # built only
    *) run_tests "$1" ;;
  esac
}

announce "install"
if $full; then deps/install-debian.sh full; else deps/install-debian.sh test; fi
# Without a network they say so, and the tests that need what they fetch are skipped.
deps/install-zig.sh >/dev/null || [ $? -eq 77 ]
for store in moto s3proxy s3mock; do
  deps/install-stores.sh $store >/dev/null || [ $? -eq 77 ]
done
for checker in typescript kubernetes cert-manager actionlint; do
  deps/install-checkers.sh $checker >/dev/null || [ $? -eq 77 ]
done

announce "build ${only:-dev}"
build "${only:-dev}"
if [ -n "$only" ]; then
  test_build "$only"
  exit 0
fi
mkdir -p build
set -m # a process group of its own, to be ended as a whole
build_later >build/later.log 2>&1 &
set +m
trap 'kill -- "-$!" 2>/dev/null || :' EXIT
test_build dev
announce "build ${later[*]}"
wait $! || { cat build/later.log; false; }
trap - EXIT
for preset in tsan fuzz release; do
  test_build "$preset"
done
