#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages (Debian, Ubuntu) that are missing; does nothing when none is.
#   install_deps.sh [--tests] [--tensorflow]
set -euo pipefail

packages=(cmake ninja-build g++ python3 libcli11-dev nlohmann-json3-dev protobuf-compiler
          libprotobuf-dev zlib1g-dev libglpk-dev libspdlog-dev libfmt-dev catch2)
for argument in "$@"; do
  case $argument in
    --tests) packages+=(clang-16 clang-format-14 clang-tidy-16 libclang-rt-16-dev) ;;
    --tensorflow) packages+=(python3-venv) ;;
    *) echo "usage: install_deps.sh [--tests] [--tensorflow]" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "This system has no dpkg; the packages' Debian names are: ${packages[*]}" >&2
  exit 0
fi
missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and only root can install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
