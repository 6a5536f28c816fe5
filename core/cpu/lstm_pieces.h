// The recurrent products of an LSTM layer from bfloat16 pieces (core/bf16_product.h). Weights are
// packed once for all time steps. The state that a time step passes to the next is packed when it
// is computed.
#pragma once

#include "core/arena.h"
#include "core/bf16_product.h"
#include "core/isa.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Holds the packed factors: the left factor has `batch` rows and `terms` columns for each time
/// step; the right factor is W_hh or its transpose, for each block of hidden units. Rows are stored
/// and read in parts that begin at multiples of 16. Different threads may store parts of one time
/// step.
class RecurrentPieces {
 public:
  static constexpr int64_t kTaskRows = bf16::kGroup;  ///< the fewest rows that a task may take

  /// True if a layer of `hidden` units is computed from pieces: its blocks of terms are whole, and
  /// this process has loops for pieces.
  static bool fits(int64_t hidden) {
    return bf16::loops() != nullptr && hidden % bf16::kDepth == 0;
  }

  /// Takes memory of `arena`, in the caller's Scope, for `blocks` blocks. A block's product has
  /// `columns` columns, a multiple of 16.
  RecurrentPieces(int64_t steps, int64_t batch, int64_t terms, int64_t blocks, int64_t columns,
                  Arena& arena);

  /// Packs columns [column, column + count) of a block's right factor.
  void pack_weights(int64_t block, int64_t column, const bf16::Factor& w, int64_t count);
  /// Packs x (rows, count), whose rows are ld apart, as rows [b0, b0 + rows) and columns [column,
  /// column + count) of the left factor of time step t. column and count are multiples of 32. The
  /// memory is that of time step t - 2. `block` is the block of these columns.
  void store(int64_t t, int64_t b0, int64_t rows, int64_t block, int64_t column, const float* x,
             int64_t ld, int64_t count);
  /// Computes c (rows, count) = rows [b0, b0 + rows) of time step t times columns [column, column +
  /// count) of the block. `x` and `w` are the sources of the packed factors.
  void multiply(int64_t t, int64_t b0, int64_t rows, const bf16::Factor& x, int64_t block,
                int64_t column, const bf16::Factor& w, int64_t count, float* c, int64_t ldc) const;

 private:
  uint32_t& largest_state(int64_t t, int64_t b0, int64_t block) const {
    return state_largest_[(t * groups_ + b0 / bf16::kGroup) * blocks_ + block];
  }

  int64_t terms_, blocks_, columns_, groups_;
  bf16::Layout layout_;
  uint16_t *states_, *weights_;  // [t % 2], [block]
  uint32_t* state_largest_;      // [t][group of rows where a part begins][block]
  uint32_t* weight_largest_;     // [block]
};

}  // namespace NINE_ISA
}  // namespace nine::cpu
