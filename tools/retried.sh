#!/usr/bin/env bash
# Run a command that needs a mirror or an index, which may hiccup: three tries, a little apart:  tools/retried.sh COMMAND…
set -uo pipefail

for try in 1 2 3; do
    "$@" && exit 0
    echo "try $try of 3 failed: $*" >&2
    sleep $((try * 5))
done
exit 1
