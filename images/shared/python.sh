#!/bin/sh
# python.sh LOCK [PACKAGE VERSION INDEX]: makes the virtual environment /opt/venv from a lock with
# hashes, without pip, headers and test suites, as bytecode that does not look at times. The
# installer uv lies in /opt/uv.
# A package that is given takes the place of `paddlepaddle` in the lock; INDEX may be empty.
# Read from /run/secrets, where they are not empty:
#   machine      proxies and package indexes, as shell variables
#   authorities  certificate authorities that the machine trusts
set -eu
lock=$1
if [ -s /run/secrets/machine ]; then set -a; . /run/secrets/machine; set +a; fi
if [ -s /run/secrets/authorities ]; then
    export SSL_CERT_FILE=/run/secrets/authorities
fi
export UV_CACHE_DIR=/mnt UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never PYTHONHASHSEED=0

/opt/uv/bin/uv venv -q --python /usr/bin/python3 /opt/venv
install() { /opt/uv/bin/uv pip install -q --python /opt/venv/bin/python "$@"; }

if [ "${2:-paddlepaddle}" = paddlepaddle ]; then
    install --require-hashes -r "$lock"
else
    # the lock without its own Paddle: a package starts at the line's beginning
    awk '/^[a-z]/ { own = /^paddlepaddle==/ } !own' "$lock" >/tmp/other.lock
    install --require-hashes -r /tmp/other.lock
    install ${4:+--extra-index-url "$4"} "$2==$3" -c /tmp/other.lock
fi

packages=/opt/venv/lib/python3.11/site-packages
find "$packages" -type d -name tests -prune -exec rm -rf {} +
cd "$packages"
rm -rf pyarrow/include pyarrow/src paddle/include onnx/backend/test numpy/_core/include \
    pyspark/examples pyspark/data pyspark/R pyspark/include
rm -rf /opt/venv/bin/activate* /opt/venv/bin/deactivate* /opt/venv/bin/pydoc* /opt/venv/.lock
# What an installer notes of its own cache differs from machine to machine.
find "$packages" -name uv_cache.json -o -name uv_build.json | xargs -r rm
# bytecode goes by the source's content, since all times become the commit's; some packages carry
# templates that no Python compiles
python3 -m compileall -q -f --invalidation-mode unchecked-hash "$packages" >/tmp/compile.log || true
