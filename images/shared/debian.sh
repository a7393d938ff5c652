#!/bin/sh
# debian.sh NAME…: installs Debian packages into the image that is being built, and leaves nothing
# that says when or over which machine. Read from /run/secrets, where they are not empty:
#   machine      proxies, as shell variables
#   debian       sources.list of a mirror, in place of the base image's own
set -eu
if [ -s /run/secrets/machine ]; then set -a; . /run/secrets/machine; set +a; fi
sources=
if [ -s /run/secrets/debian ]; then
    sources='-o Dir::Etc::SourceList=/run/secrets/debian -o Dir::Etc::SourceParts=/dev/null'
fi
export DEBIAN_FRONTEND=noninteractive
mkdir -p /usr/share/man/man1 # a JRE's scripts want it, and slim bases lack it
# shellcheck disable=SC2086 # options, not one word
apt-get -qq $sources update
# shellcheck disable=SC2086
apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io \
    $sources install "$@" >/dev/null
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb \
    /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/lib/dpkg/*-old \
    /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/fontconfig.log \
    /usr/share/doc/*/changelog* /usr/share/man/man*/* /tmp/*
find / -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
