#!/bin/sh
# tests/fuzz/keep.sh BUILD: of the inputs in BUILD/corpus, those that reach what the committed corpus does not, into the committed corpus.
# libFuzzer covers the edges with few inputs (a cover of sets, small files first; how often an edge is taken does not count), so that
# thousands of grown inputs become a hundred. test_fuzz_corpus replays them in every build. For fuzzers without sanitizers or with.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
for committed in "$here"/corpus/*/; do
  name=$(basename "$committed")
  [ -d "$build/corpus/$name" ] || continue
  before=$(ls "$committed" | wc -l)
  "$build/bin/fuzz_$name" -set_cover_merge=1 -use_counters=0 -timeout=10 -rss_limit_mb=2048 -max_len=1024 \
    "$committed" "$build/corpus/$name" > "$build/keep-$name.log" 2>&1 || { tail -n 20 "$build/keep-$name.log"; exit 1; }
  echo "$name: $before inputs, now $(ls "$committed" | wc -l), $(du -sb "$committed" | cut -f 1) bytes"
done
