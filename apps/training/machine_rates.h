// What a CPU reaches, measured now with all threads: bench_gemm and --profile compare with it.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/matmul_precision.h"

namespace nine::app {

/// Returns the seconds of the fastest call of f among those that fit into `seconds`, after a first
/// call that is not timed.
template <class F>
double shortest(double seconds, F&& f) {
  using Clock = std::chrono::steady_clock;
  f();
  double best = 1e30;
  for (const auto start = Clock::now();
       std::chrono::duration<double>(Clock::now() - start).count() < seconds;) {
    const auto t = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - t).count());
  }
  return best;
}

/// Returns bytes a second of a triad, a = b + 3 c, over arrays far larger than the caches. Bytes
/// are counted as McCalpin's STREAM counts them: two read, one written. `seconds`: as in
/// shortest().
double triad_rate(double seconds);
/// Returns float32 operations a second of the head's tile of scores, repeated in cache.
double tile_rate(double seconds);
/// Returns the same of a product of packed bfloat16 pieces, as operations of the float32 product
/// that they make; 0 if the CPU computes this precision in float32.
double pieces_rate(MatmulPrecision precision, double seconds);

}  // namespace nine::app
