#!/usr/bin/env bash
# build.sh ROLE…: builds the images of these roles with buildah or docker, whichever is there.
#
#   PREFIX         first part of the names, with a registry if wanted ("orchard": orchard-trainer)
#   TAG            instead of the version that pyproject.toml states
#   BASE           base image; made by debootstrap where no registry has it
#   BUILD_ARGS     more build arguments, e.g. "PADDLE=paddlepaddle-gpu PADDLE_VERSION=3.3.1"
#   DEBIAN_MIRROR  address of a mirror of Debian's archive
#
# What the machine needs to reach packages (proxies, indexes, mirror, certificate authorities) goes
# in as secrets and stays out of the images. Only files that git tracks go in. The commit's time is
# the time of all that is built.
set -euo pipefail
cd "$(dirname "$0")/.."
images=$PWD/images

BUILDER=$("$images/tools.sh")
export BUILDER
export STORAGE_DRIVER=${STORAGE_DRIVER:-overlay} BUILDAH_ISOLATION=chroot

prefix=${PREFIX:-orchard}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
tag=${TAG:-$version}
base=${BASE:-docker.io/library/debian:bookworm-slim}
revision=$(git rev-parse HEAD)$(git diff --quiet HEAD -- || echo -dirty)
when=$(git log -1 --format=%ct)
scripts=$(cat images/shared/*.sh images/hdfs/jars.sh | sha256sum | cut -c1-16)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
context=$work/context
mkdir "$context"
git ls-files -z -- '*.lock' images orchard operators dags plugins spark_jobs trainers serving |
    tar -c --null -T - | tar -x -C "$context"
chmod -R u=rwX,go=rX "$context"

# secrets: what this machine needs to reach packages
secrets=$work/secrets
mkdir "$secrets"
for name in machine authorities debian maven java-authorities; do : >"$secrets/$name"; done
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL; do
    if [ -n "${!name:-}" ]; then printf '%s=%q\n' "$name" "${!name}" >>"$secrets/machine"; fi
done
copy() { if [ -n "$2" ] && [ -r "$2" ]; then cp -L "$2" "$secrets/$1"; fi; }
copy authorities "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}"
copy java-authorities "${JAVA_TRUST_STORE:-/etc/ssl/certs/java/cacerts}"
copy maven "${MAVEN_SETTINGS:-$HOME/.m2/settings.xml}"
if [ -n "${DEBIAN_MIRROR:-}" ]; then
    suite=${base##*:}
    printf 'deb %s main\n' "$DEBIAN_MIRROR ${suite%-slim}" >"$secrets/debian"
fi
options=()
for name in "$secrets"/*; do options+=(--secret "id=$(basename "$name"),src=$name"); done
for argument in ${BUILD_ARGS:-}; do options+=(--build-arg "$argument"); done

has_image() {
    if [ "$BUILDER" = buildah ]; then buildah inspect --type image "$1" >/dev/null 2>&1
    else docker image inspect "$1" >/dev/null 2>&1; fi
}
if ! has_image "$base" && ! "$BUILDER" pull -q "$base" >/dev/null 2>&1; then
    command -v debootstrap >/dev/null || {
        echo "No registry has $base. Install debootstrap to make it, or name another: make images BASE=…" >&2
        exit 64
    }
    "$images/base.sh" "$base"
fi

build() {
    local arguments=(
        -f "$images/$1/Dockerfile" -t "$prefix-$1:$tag"
        --build-arg "BASE=$base" --build-arg "SCRIPTS=$scripts" --build-arg "VERSION=$version" --build-arg "REVISION=$revision"
        "${options[@]}"
    )
    if [ "$BUILDER" = buildah ]; then
        # packages come out of the user's own cache where they lie in it
        local cache=${UV_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/uv}
        mkdir -p "$cache"
        buildah build -q --isolation chroot --layers --format docker --timestamp "$when" \
            --volume "$cache:/mnt" "${arguments[@]}" "$context" >/dev/null
    else
        SOURCE_DATE_EPOCH=$when DOCKER_BUILDKIT=1 docker build -q "${arguments[@]}" "$context" >/dev/null
    fi
}

for role in "$@"; do
    if [ ! -f "$images/$role/Dockerfile" ]; then
        echo "There is no role $role. Roles: $(cd "$images" && echo */Dockerfile | sed 's|/Dockerfile||g')" >&2
        exit 64
    fi
    begun=$SECONDS
    build "$role"
    echo "$prefix-$role:$tag took $((SECONDS - begun)) s"
done
