// The tiles of dL/dz that the products for dW and dH take with CUDA. --head-skip leaves out the
// others, whose gradients are small (ops::HeadBlockOptions::skip).
#pragma once

#include "core/arena.h"
#include "cuda/device.cuh"
#include "kernels/ops.h"

namespace nine::cuda {

/// The flags of the tiles of a plane of dL/dz, and the products that take the tiles that are kept.
/// cuBLAS cannot leave out tiles, so these products are kernels of their own. Their arithmetic
/// follows --matmul-precision, as that of attention does.
template <class T>
class KeptTiles {
 public:
  /// Takes memory of the arena, in the caller's Scope, for planes of up to `words` words and for
  /// products of up to `dims` columns. Errors name `op`.
  KeptTiles(const char* op, const ops::HeadBlock& block, double row_weight, int64_t words,
            int64_t dims, Arena& arena);

  /// False if the products take all tiles.
  explicit operator bool() const { return flags_ != nullptr; }

  /// Finds the tiles of z (words, padded rows) whose every |dL/dz| is below the limit, relative to
  /// the row's weight. A tile with a number that is not finite is kept. Adds to `sums`
  /// (ops::HeadGradients::left_out), unless it is empty.
  void mark(const View& z, const View& sums) const;
  /// Submits dw (words, n) = z h or, with dw.add, dw += z h, for contexts h (rows, n) and the tiles
  /// of z that mark() has kept.
  void add_dw(const View& z, const View& h, const OutputView& dw) const;
  /// Submits dh (rows, n) = z' w or, with dh.add, dh += z' w, for word vectors w (words, n) and
  /// these tiles.
  void add_dh(const View& z, const View& w, const OutputView& dh) const;

 private:
  const char* op_;
  CudaDevice& device_;
  const ops::HeadBlock& block_;
  double bound_;              // of |dL/dz| of a row whose factor is 1
  uint8_t* flags_ = nullptr;  // [tile of words][panel of rows]; null: no limit
  double* sums_ = nullptr;    // [tile][panel]: of |dL/dz|
  T* partial_ = nullptr;      // [split of the words][row][column] of dh
};

}  // namespace nine::cuda
