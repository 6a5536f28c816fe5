// Tiles of matrices in shared memory, as the products of cuda/mma.cuh read them, and the choice of
// their arithmetic.
#pragma once

#include "core/matmul_precision.h"
#include "cuda/mma.cuh"

namespace nine::cuda {

inline constexpr int kMmaRows = 16;  ///< rows of a warp's product
inline constexpr int kMmaCols = 8;   ///< columns of one of its tiles

/// Numbers from one row of a tile of `cols` columns to the next: 16 bytes more than its columns, so
/// that eight rows begin in different banks.
template <class Store>
constexpr int tile_stride(int cols) {
  return cols + static_cast<int>(16 / sizeof(Store));
}

/// to[r][c] = the number of row r and column c at `from`, rounded as `Mma` stores it; 0 from row
/// `real_rows` and from column `real_cols` on. The tile has `rows` rows and kCols columns. All
/// threads of a block of (32, warps) call it, with eight loads each before the first store; others
/// see the tile after a barrier.
template <class Mma, int kCols>
NINE_D void load_tile(typename Mma::Store* to, int rows, const typename Mma::Number* from,
                      int64_t ld, int real_rows, int real_cols) {
  using T = typename Mma::Number;
  constexpr int kLoads = 8;
  const int threads = static_cast<int>(blockDim.y) * kWarp,
            thread = static_cast<int>(threadIdx.y * kWarp + threadIdx.x);
  for (int first = thread; first < rows * kCols; first += kLoads * threads) {
    T x[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * threads, r = at / kCols, c = at % kCols;
      x[i] = r < real_rows && c < real_cols && r < rows ? from[r * ld + c] : T(0);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * threads, r = at / kCols, c = at % kCols;
      if (r < rows) to[r * tile_stride<typename Mma::Store>(kCols) + c] = Mma::stored(x[i]);
    }
  }
}

/// Calls f.template operator()<Mma, kCols>() with the arithmetic of T and --matmul-precision, and
/// tiles for rows of `size` numbers.
template <class T, class F>
void with_mma(int64_t size, const F& f) {
  if constexpr (sizeof(T) == sizeof(double)) {
    f.template operator()<PlainMma<double>, 32>();
  } else {
    const auto of_size = [&]<class Mma>() {
      if (size <= 32) return f.template operator()<Mma, 32>();
      if (size <= 64) return f.template operator()<Mma, 64>();
      f.template operator()<Mma, 128>();
    };
    switch (matmul_precision()) {
      case MatmulPrecision::highest:
        return of_size.template operator()<PlainMma<float>>();
      case MatmulPrecision::high:
        return of_size.template operator()<Tf32Mma>();
      case MatmulPrecision::medium:
        return of_size.template operator()<Bf16Mma>();
    }
  }
}

}  // namespace nine::cuda
