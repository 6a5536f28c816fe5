#!/bin/sh
# Compiles, and keeps what ptxas -v says of registers and stack in LOG (tests/cuda/ptxas.py reads it); everything else is shown.
#   nvcc.sh LOG COMMAND...
log=$1
shift
"$@" 2> "$log.tmp"
status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$log.tmp" >&2
grep -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$log.tmp" > "$log"
rm -f "$log.tmp"
exit $status
