#!/usr/bin/env bash
# Try a command up to three times, with pauses: mirrors and package indexes fail now and then.
# usage: tools/retried.sh COMMAND…
set -uo pipefail

for try in 1 2 3; do
    "$@" && exit 0
    echo "try $try of 3 failed: $*" >&2
    sleep $((try * 5))
done
exit 1
