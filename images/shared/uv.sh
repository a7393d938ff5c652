#!/bin/sh
# uv.sh LOCK: puts the installer uv into /opt/uv, from a lock with hashes; it stays in its stage.
# Read from /run/secrets, where they are not empty: machine, authorities (see python.sh).
set -eu
if [ -s /run/secrets/machine ]; then set -a; . /run/secrets/machine; set +a; fi
if [ -s /run/secrets/authorities ]; then
    export SSL_CERT_FILE=/run/secrets/authorities PIP_CERT=/run/secrets/authorities
fi
python3 -m venv /opt/uv
/opt/uv/bin/pip install -q --no-cache-dir --disable-pip-version-check --no-compile \
    --require-hashes -r "$1"
