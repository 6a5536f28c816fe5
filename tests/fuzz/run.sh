#!/bin/sh
# tests/fuzz/run.sh BUILD SECONDS: every fuzzer for SECONDS, from the committed corpus; new inputs go to BUILD/corpus. Stops at the
# first crash, whose input it names: minimise it (fuzz_NAME -minimize_crash=1 FILE), fix the reader, and add it to
# tests/fuzz/corpus/NAME, which test_fuzz_corpus replays in every build.
set -eu
build=$1
seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
for name in safetensors dict text config; do
  mkdir -p "$build/corpus/$name"
  echo "--- fuzz_$name, $seconds s"
  "$build/bin/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build/$name-" "$build/corpus/$name" "$here/corpus/$name" 2>&1 | grep -v -e slowest -e peak_rss || { echo "fuzz_$name failed"; exit 1; }
  if ls "$build/$name-"* >/dev/null 2>&1; then
    echo "fuzz_$name found: $(ls "$build/$name-"*)"
    exit 1
  fi
done
