#!/usr/bin/env bash
# Build the wheel, install it into a new environment, and run the command from there:  tools/check_wheel.sh
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/retried.sh .venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$scratch" .
python3 -m venv "$scratch/venv"
tools/retried.sh "$scratch/venv/bin/python" -m pip install --quiet -c constraints.txt "$scratch"/fscrawl-*.whl
cd "$scratch"
venv/bin/fscrawl --help >/dev/null
venv/bin/fscrawl --version
