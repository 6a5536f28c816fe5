#!/usr/bin/env bash
# Runs tests and says which were skipped, and why.
#   tests/run.sh BUILD CTEST_OPTIONS...
# With NINE_SKIPS=FILE a skip fails unless FILE names the test: a name a line, what follows # says why (tests/skips.txt, in CI).
set -euo pipefail
build=$1
shift
log=$(mktemp "${TMPDIR:-/tmp}/nine-tests.XXXXXX")
trap 'rm -f "$log"' EXIT
status=0
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" | tee "$log" || status=$?
skipped=$(sed -n 's/^.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*$/\1/p' "$log")
[ -n "$skipped" ] || exit $status
echo
echo "Skipped:"
for name in $skipped; do
  why=$(awk -v name="$name" '/^[0-9]+\/[0-9]+ Testing: / { here = $3 == name } here && /^skipped: / { sub(/^skipped: /, ""); print; exit }' \
    "$build/Testing/Temporary/LastTest.log")
  echo "  $name: $why"
  if [ -n "${NINE_SKIPS:-}" ] && ! sed 's/ *#.*//' "$NINE_SKIPS" | grep -qxF "$name"; then
    echo "    must not be skipped here: $NINE_SKIPS does not name it"
    status=1
  fi
done
exit $status
