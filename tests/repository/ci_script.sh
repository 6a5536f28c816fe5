#!/bin/sh
# .ci/run with commands that do nothing in place of its own and a clock that only they move on: what runs in which order, what is left out
# and said to be, what fails.
#   tests/repository/ci_script.sh SOURCE
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/nine-ci.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() {
  printf '%s\n' "$*" "--- ran:" "$(cat "$work/ran")" "--- said:" "$(cat "$work/said")"
  exit 1
}
mkdir -p "$work/bin" "$work/tree/.ci" "$work/tree/cmake" "$work/takes"
cp "$1/.ci/run" "$work/tree/.ci/run"
WORK=$work
TIMEOUT=$(command -v timeout)
export WORK TIMEOUT

# stub NAME BODY: a command that notes its call. `takes/PART` has a part's minutes and its exit status.
stub() { printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod +x "$1"; }
# shellcheck disable=SC2016
{
  note='echo "$(basename "$0") $*" >> "$WORK/ran"'
  stub "$work/tree/cmake/install_deps.sh" "$note"
  for name in clang-format black; do
    stub "$work/bin/$name" 'cat "$WORK/unformatted-$(basename "$0")" 2> /dev/null && exit 1; exit 0'
  done
  stub "$work/bin/git" 'case "$1" in rev-parse) cat "$WORK/commit";; esac'
  stub "$work/bin/date" 'cat "$WORK/now"'
  stub "$work/bin/make" "$note"'
    takes=0 status=0
    [ ! -f "$WORK/takes/$1" ] || read -r takes status < "$WORK/takes/$1"
    echo $(($(cat "$WORK/now") + 60 * takes)) > "$WORK/now"
    exit "$status"'
  # The real one where the part takes longer than its limit. A part that does not heed its end has the exit status 9.
  stub "$work/bin/timeout" '
    takes=0 status=0
    [ ! -f "$WORK/takes/$4" ] || read -r takes status < "$WORK/takes/$4"
    limit=$2
    shift 2
    [ $((60 * takes)) -gt "$limit" ] || exec "$@"
    echo "$*: ended after $((limit / 60)) minutes" >> "$WORK/ran"
    echo $(($(cat "$WORK/now") + limit)) > "$WORK/now"
    [ "$status" != 9 ] || exec "$TIMEOUT" --kill-after=1 1 sh -c "trap : TERM; while :; do sleep 1; done"
    exec "$TIMEOUT" --kill-after=1 1 sleep 1000'
}
PATH=$work/bin:$PATH
export PATH

# ci COMMIT [all]: the exit status; the calls in `ran`, what was printed in `said`.
ci() {
  echo "$1" > "$work/commit"
  shift
  echo 1000000000 > "$work/now"
  : > "$work/ran"
  status=0
  "$work/tree/.ci/run" "$@" > "$work/said" 2>&1 || status=$?
}
ran() { [ "$(grep -v '^install_deps' "$work/ran")" = "$1" ] || fail "not run as expected: $1"; }
lists() { [ "$(grep -e '^LEFT OUT' -e '^FAILED' "$work/said" || true)" = "$1" ] || fail "not listed as expected: $1"; }
ends() { [ "$status" = "$1" ] || fail "exit status $status, not $1"; }
takes() { echo "$2 ${3:-0}" > "$work/takes/$1"; }

first='make test
make check'

# What runs is chosen by the commit: half of the sanitized tests, and one part in turn, of clang-tidy a slice, of the allocations a quarter.
ci 0000000aa
ends 0 && lists '' && ran "$first
make sanitize SHARE=1/2
make tsan"
ci 0000001bb
ends 0 && lists '' && ran "$first
make sanitize SHARE=2/2
make fuzz SECONDS=30"
ci 0000016cc
ends 0 && lists '' && ran "$first
make sanitize SHARE=1/2
make allocations SHARE=1/4"
ci 0000003
ends 0 && lists '' && ran "$first
make sanitize SHARE=2/2
make tidy SLICE=1/6"
ci 000001cdd
ends 0 && lists '' && ran "$first
make sanitize SHARE=1/2
make tidy SLICE=6/6"
ci 0000004
ends 0 && lists '' && ran "$first
make sanitize SHARE=1/2
make clients"

# What still runs at minute 88 is ended, whether it heeds that or not, and what would begin after it is left out: that is no failure.
takes test 30
takes check 20
takes sanitize 38
ci 0000000
ends 0 && ran "$first
make sanitize SHARE=1/2"
lists 'LEFT OUT: make tsan: not begun at minute 88'
for how in 0 9; do
  takes sanitize 39 $how
  ci 0000000
  ends 0 && ran "$first
make sanitize SHARE=1/2: ended after 38 minutes"
  lists 'LEFT OUT: make sanitize SHARE=1/2: ended at minute 88
LEFT OUT: make tsan: not begun at minute 88'
done

# `all` has no limits, and leaves nothing to another commit.
takes sanitize 200
ci 0000003 all
ends 0 && lists '' && ran "$first
make sanitize SHARE=1/1
make tsan
make fuzz SECONDS=60
make allocations
make tidy
make clients"

# A part that fails does not keep the next from running, and the run fails.
takes sanitize 20 2
takes tsan 8 2
ci 0000000
ends 1 && ran "$first
make sanitize SHARE=1/2
make tsan"
lists 'FAILED: make sanitize SHARE=1/2
FAILED: make tsan'
# Without the tests, nothing else runs; nor with a file that is not formatted.
takes test 5 2
ci 0000000
ends 2 && ran 'make test'
for name in clang-format black; do
  echo "core/text" > "$work/unformatted-$name"
  ci 0000000
  [ "$status" != 0 ] && ran '' || fail "a file that is not formatted did not end the run"
  rm "$work/unformatted-$name"
done
