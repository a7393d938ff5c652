#!/bin/sh
# code.sh: compiles the program's own folders in /opt/orchard; a file that does not compile is an error.
set -eu
export PYTHONHASHSEED=0
python3 -m compileall -q -f --invalidation-mode unchecked-hash /opt/orchard
