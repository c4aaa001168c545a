#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plumber's main job on a trace that ships with it: what limits the pipeline, what to change, and
# the changed program. Installs what is missing and builds first.
#   demo.sh                 a recorded trace; needs no TensorFlow
#   demo.sh --tensorflow    also records a pipeline here, rewrites it and measures both
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  "") packages=() ;;
  --tensorflow) packages=(--tensorflow) ;;
  *) echo "usage: demo.sh [--tensorflow]" >&2; exit 2 ;;
esac

scripts/install_deps.sh "${packages[@]}"
cmake --preset release >/dev/null
echo "Building plumber (two minutes at first)"
cmake --build --preset release -j "$(nproc)" --target plumber -- --quiet
out=build/demo
mkdir -p "$out"
export PATH=$PWD/build/release/apps:$PATH

# show COMMAND...: prints the command as one would type it, then runs it.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

trace=testdata/traces/imagenet_eval.pb
show plumber analyze "$trace"
show plumber optimize "$trace" --cores 4 --mem 8G -o "$out/plan.json"
show plumber rewrite "$trace" --plan "$out/plan.json" -o "$out/tuned.pb"
echo "The program in $out/tuned.pb is for TensorFlow: ds = plumber_tf.load('$out/tuned.pb')"
[[ ${#packages[@]} -eq 0 ]] && exit 0

python=$(scripts/tensorflow_python.sh)
export TF_CPP_MIN_LOG_LEVEL=3
pipeline=testdata/pipelines/imagenet_train.py
if [[ ! -e $out/data/complete ]]; then
  show "$python" scripts/make_testdata.py "$out/data"
  touch "$out/data/complete"
fi
show "$python" scripts/plumber_tf.py trace "$pipeline:make" --arg "data_dir=$out/data" \
  --seconds 10 -o "$out/trace.pb"
show plumber optimize "$out/trace.pb" --cores "$(nproc)" --mem 4G --rewrite "$out/faster.pb"
show "$python" scripts/plumber_tf.py compare "$pipeline:make" "$out/faster.pb" \
  --arg "data_dir=$out/data"
