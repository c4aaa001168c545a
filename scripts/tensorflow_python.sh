#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python that has TensorFlow, after making a virtual environment for it if
# there is none yet. PLUMBER_TF_PYTHON names one that exists already.
set -euo pipefail

if [[ -n ${PLUMBER_TF_PYTHON:-} ]]; then
  echo "$PLUMBER_TF_PYTHON"
  exit 0
fi
cache=${XDG_CACHE_HOME:-${HOME:-$(pwd)/build}/.cache}/plumber
folder=$cache/tensorflow-2.21
if [[ ! -e $folder/complete ]]; then
  echo "Making a virtual environment with TensorFlow in $folder" >&2
  mkdir -p "$cache"
  python3 -m venv --clear "$folder" >&2
  "$folder/bin/pip" install --quiet --disable-pip-version-check 'tensorflow-cpu==2.21.*' >&2
  touch "$folder/complete"
fi
echo "$folder/bin/python"
