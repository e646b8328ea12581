#!/usr/bin/env bash
# Install Debian packages that are missing, as root or with sudo that needs no password.
# usage: tools/debian.sh PACKAGE…
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
retried="$(dirname "$0")/retried.sh"

missing() {
    local package
    for package in "$@"; do
        [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" == 'install ok installed' ]] || echo "$package"
    done
}

as_root() { if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi; }

command -v dpkg-query >/dev/null || { echo "this is not Debian; please install these packages yourself: $*" >&2; exit 1; }
mapfile -t wanted < <(missing "$@")
if ((${#wanted[@]})); then
    as_root "$retried" apt-get update -q
    as_root "$retried" apt-get install -q -y --no-install-recommends "${wanted[@]}"
fi
