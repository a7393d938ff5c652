#!/usr/bin/env bash
# tools.sh: prints what builds images on this machine, buildah or docker. Where there is neither, it
# installs Debian's buildah and debootstrap if it may, and otherwise says how to get them.
set -euo pipefail
packages='buildah debootstrap'
say_how() {
    echo "Neither buildah nor a running docker was found. Install them (Debian: sudo apt-get install $packages)." >&2
    exit 64
}

if command -v buildah >/dev/null; then echo buildah; exit; fi
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then echo docker; exit; fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || say_how
echo "Installing $packages, once" >&2
apt-get -qq update >&2
# shellcheck disable=SC2086 # two names
DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $packages runc >/dev/null || {
    echo "Debian's packages could not be installed; the lines above say why." >&2
    exit 75
}
echo buildah
