#!/usr/bin/env bash
# base.sh IMAGE: makes the base image with debootstrap, for machines that no image registry reaches.
# The suite is the one that the image's tag names (bookworm-slim: bookworm); the content is Debian's
# minimal system with its security updates, without documentation. BUILDER is buildah or docker.
set -euo pipefail
image=$1
suite=${image##*:}
suite=${suite%-slim}
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT

echo "Making $image from Debian's packages"
debootstrap --variant=minbase "$suite" "$folder/root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} \
    >"$folder/log" 2>&1 || { tail -5 "$folder/log"; exit 75; }
cd "$folder/root"
for mounted in proc sys; do
    ! mountpoint -q "$mounted" || umount -l "$mounted"
done
archive=$(awk '$1 == "deb" { print $2; exit }' etc/apt/sources.list)
if [ -n "${DEBIAN_MIRROR:-}" ]; then
    : >etc/apt/sources.list # a mirror of this machine is nobody else's: builds get it as a secret
else
    printf 'deb %s main\n' "$archive $suite" "$archive $suite-updates" \
        "$archive-security $suite-security" >etc/apt/sources.list
fi
rm -rf var/lib/apt/lists/* var/cache/apt/* var/log/*.log var/log/apt var/cache/ldconfig/aux-cache \
    var/cache/debconf/*-old var/lib/dpkg/*-old etc/hostname etc/resolv.conf dev/* \
    usr/share/man/* usr/share/info/* usr/share/locale/*
find usr/share/doc -type f ! -name copyright -delete
: >etc/machine-id
# the day on which a password was changed last is the day of this build (0: it has to be changed)
sed -i -E 's/^([^:]*:[^:]*):[0-9]+:/\1:1:/' etc/shadow
cd "$folder"
tar -C root --one-file-system --sort=name --numeric-owner -cf rootfs.tar .
printf '%s\n' 'FROM scratch' 'ADD rootfs.tar /' \
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' 'CMD ["bash"]' >Dockerfile
if [ "$BUILDER" = buildah ]; then
    buildah build -q --isolation chroot --timestamp 0 -t "$image" . >/dev/null
else
    docker build -q -t "$image" . >/dev/null
fi
