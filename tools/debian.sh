#!/usr/bin/env bash
# Install Debian packages that are not there yet:  tools/debian.sh PACKAGE…  As root, or with sudo that asks nothing.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

missing() {
    local package
    for package in "$@"; do
        [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" == 'install ok installed' ]] || echo "$package"
    done
}

retried() {  # a mirror may hiccup: three tries, a little apart
    local try
    for try in 1 2 3; do
        "$@" && return 0
        echo "try $try of 3 failed: $*" >&2
        sleep $((try * 5))
    done
    return 1
}

as_root() { if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi; }

command -v dpkg-query >/dev/null || { echo "this is no Debian; see to these packages yourself: $*" >&2; exit 1; }
mapfile -t wanted < <(missing "$@")
if ((${#wanted[@]})); then
    retried as_root apt-get update -q
    retried as_root apt-get install -q -y --no-install-recommends "${wanted[@]}"
fi
