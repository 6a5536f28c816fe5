#!/bin/sh
# tests/tsan.sh BUILD: the test files of what runs in threads, under ThreadSanitizer. libomp loads the tool archer, which tells the
# sanitizer where OpenMP's threads meet; without it every parallel region would look like a race, so that it has to be there.
set -eu
build=$1
export OMP_TOOL_LIBRARIES=libarcher.so ARCHER_OPTIONS="verbose=1"
# libomp itself is not instrumented: what happens inside of it is archer's to tell.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 history_size=5"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for name in core gemm vmath ops head lstm autograd learner recipes; do
  echo "--- test_$name"
  "$build/bin/nine_tests" --source-file="*test_$name.cpp" > "$log" 2>&1 || { cat "$log"; exit 1; }
  grep -q "Archer detected" "$log" || { echo "archer was not loaded: libarcher.so comes with libomp-dev"; exit 1; }
  tail -n 3 "$log" | head -n 1
done
