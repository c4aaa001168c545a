#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that must hold before a change goes in: installs what is missing, builds, runs all
# checks and tests. About 20 minutes on two cores, a second run is quick.
#   test.sh [--long]     also the slow tests, whose last results stand in docs/results.md
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  "") long=0 ;;
  --long) long=1 ;;
  *) echo "usage: test.sh [--long]" >&2; exit 2 ;;
esac

summary=()
failed=0

# step NAME COMMAND...: runs it, whatever happened before, and notes the result for the end.
step() {
  local name=$1 start=$SECONDS result=Passed
  shift
  printf '\n== %s\n' "$name"
  "$@" || { result=FAILED; failed=$((failed + 1)); }
  summary+=("$(printf '%-34s %-6s %6d s' "$name" "$result" $((SECONDS - start)))")
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null &&
    cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
}

# run_ctest PRESET [PATTERN]: the tests whose names match
run_ctest() {
  ctest --test-dir "build/$1" -j "$(nproc)" --output-on-failure --no-tests=error ${2:+-R "$2"}
}

# Each file is a unittest program; PLUMBER names the binary that it runs (ctest sets its own).
# run_python_tests JOBS FILE...: as many at a time, each one's output as a whole
run_python_tests() {
  local jobs=$1 python
  shift
  python=$(scripts/tensorflow_python.sh) || return 1
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$jobs" bash -c '
    output=$("$0" "$1" 2>&1)
    result=$?
    printf "%s\n" "-- $1" "$output"
    exit $result' "$python"
}

tests=tests/tensorflow
# Those that measure seconds and bytes need a machine without other work, those that look at rates
# and times need the cores for themselves; what elements come out is not a matter of time.
measuring=("$tests"/{disk,known_answers,memory,tune_run}_test.py)
timed=("$tests"/{annotation,counters_over_time,every_op,short_epochs}_test.py
       "$tests"/{trace,tune,user_threads,waiting_calls}_test.py)
measuring_tests() { run_python_tests 1 "${measuring[@]}"; }

tensorflow_tests() {
  local others=("$tests"/pipelines_test.py) file result=0  # the longest first
  for file in "$tests"/*_test.py; do
    [[ " ${measuring[*]} ${timed[*]} ${others[*]} " == *" $file "* ]] || others+=("$file")
  done
  run_python_tests "$(nproc)" "${others[@]}" || result=1
  run_python_tests 1 "${timed[@]}" || result=1
  return $result
}

laws_with_sanitizers() { build asan property_test && run_ctest asan "^property"; }

# Plans for 16 to 96 cores against 10,000 random ones each, on the simulator: ten minutes.
large_machines() { build/release/tests/simulator_test "[.long]"; }

# Rates of stock and rewritten programs side by side, and what tracing costs.
measure_rates() {
  local python
  python=$(scripts/tensorflow_python.sh) || return 1
  "$python" scripts/bench_tf.py && "$python" scripts/bench_tf.py --overhead &&
    "$python" scripts/bench_steps.py && "$python" scripts/bench_moves.py &&
    "$python" scripts/bench_brute.py
}

export PLUMBER=$PWD/build/release/apps/plumber TF_CPP_MIN_LOG_LEVEL=3 PYTHONDONTWRITEBYTECODE=1

# The release build is what users run, so its program is tested as a whole; the asan build has the
# assertions, so the tests of the parts run there. The laws run on thousands of random pipelines,
# which takes the asan build twelve minutes.
step "install packages" scripts/install_deps.sh --tests --tensorflow
step "build release" build release plumber property_test simulator_test
step "build asan" build asan
step "tests, release" run_ctest release "^(golden|program|layers|scripts|property|simulator)"
step "tests, asan" run_ctest asan "^(unit|golden)"
step "style" python3 scripts/check_style.py
step "clang-tidy" python3 scripts/check_style.py --tidy build/release --jobs "$(nproc)"
step "tests with TensorFlow" tensorflow_tests
if [[ $long -eq 1 ]]; then
  step "laws, asan" laws_with_sanitizers
  step "large machines" large_machines
  step "measurements with TensorFlow" measuring_tests
  step "rates with TensorFlow" measure_rates
fi

printf '\n'
printf '%s\n' "${summary[@]}"
steps=${#summary[@]}
printf '\n%d of %d steps passed, %d s in total\n' $((steps - failed)) "$steps" $SECONDS
exit $((failed > 0))
