#!/bin/sh
# tests/fuzz/run.sh BUILD SECONDS: every fuzzer for SECONDS from the committed corpus, two at a time; new inputs go to BUILD/corpus.
# Fails with the name of the input that a reader did not survive: minimise it (fuzz_NAME -minimize_crash=1 FILE), fix the reader,
# and add it to tests/fuzz/corpus/NAME, which test_fuzz_corpus replays in every build.
set -eu
export build=$1 seconds=$2
export here=$(cd "$(dirname "$0")" && pwd)
ls "$here/corpus" | xargs -P 2 -I NAME sh -c '
  mkdir -p "$build/corpus/NAME"
  if "$build/bin/fuzz_NAME" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -artifact_prefix="$build/NAME-" \
       "$build/corpus/NAME" "$here/corpus/NAME" > "$build/NAME.log" 2>&1; then
    echo "fuzz_NAME: $(tail -n 1 "$build/NAME.log")"
  else
    tail -n 40 "$build/NAME.log"
    echo "fuzz_NAME failed: $build/NAME.log"
    exit 1
  fi'
