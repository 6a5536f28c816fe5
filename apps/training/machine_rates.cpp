#include "apps/training/machine_rates.h"

#include <vector>

#include "core/bf16_product.h"
#include "core/gemm.h"
#include "core/scratch.h"
#include "core/threads.h"

namespace nine::app {

double triad_rate(double seconds) {
  constexpr int64_t kElements = int64_t{1} << 25, kPiece = 1 << 16;
  std::vector<float> a(kElements), b(kElements, 1), c(kElements, 2);
  const double s = shortest(seconds, [&] {
    parallel_ranges(kElements, kPiece, [&](int64_t begin, int64_t end) {
      float* __restrict x = a.data();
      const float *y = b.data(), *z = c.data();
      for (int64_t i = begin; i < end; ++i) x[i] = y[i] + 3 * z[i];
    });
  });
  return 12.0 * static_cast<double>(kElements) / s;
}

double tile_rate(double seconds) {
  constexpr int64_t kRows = 32, kWords = 64, kDepth = 512, kTimes = 200;
  const TileProduct<float> tile(kRows, kWords, kDepth, kRows, kDepth, kRows, false);
  const double s = shortest(seconds, [&] {
    parallel_for(threads(), [&](int64_t) {
      float* x = scratch<float>(Scratch::tile, kRows * kDepth + kDepth * kWords + kRows * kWords);
      std::fill_n(x, kRows * kDepth + kDepth * kWords, 0.5F);
      for (int64_t i = 0; i < kTimes; ++i)
        tile(x, x + kRows * kDepth, x + kRows * kDepth + kDepth * kWords);
    });
  });
  return 2.0 * kRows * kWords * kDepth * kTimes * threads() / s;
}

double pieces_rate(MatmulPrecision precision, double seconds) {
  constexpr int64_t kRows = 32, kWords = 32, kDepth = bf16::kStretch * bf16::kDepth, kTimes = 200;
  const MatmulPrecision before = matmul_precision();
  set_matmul_precision(precision);
  const bf16::Loops* loops = bf16::loops();
  set_matmul_precision(before);
  if (loops == nullptr) return 0;
  const bf16::Layout layout = bf16::layout_of(kDepth, bf16::pieces_of(precision));
  const auto size = static_cast<size_t>(bf16::packed_size(kRows, kDepth, layout.pieces));
  const std::vector<float> numbers(kRows * kDepth, 0.5F);
  const bf16::Factor factor{.x = numbers.data(), .ld = kDepth};
  const double s = shortest(seconds, [&] {
    parallel_for(threads(), [&](int64_t) {
      std::vector<uint16_t> left(size), right(size);
      std::vector<float> c(kRows * kWords);
      const bf16::Packed rows{left.data(), layout,
                              loops->pack_left(factor, kRows, kDepth, layout, left.data()), factor},
          words{right.data(), layout,
                loops->pack_right(factor, kWords, kDepth, layout, right.data()), factor};
      for (int64_t i = 0; i < kTimes; ++i)
        loops->multiply({.left = rows,
                         .right = words,
                         .m = kRows,
                         .n = kWords,
                         .k = kDepth,
                         .c = c.data(),
                         .ldc = kWords});
    });
  });
  return 2.0 * kRows * kWords * kDepth * kTimes * threads() / s;
}

}  // namespace nine::app
