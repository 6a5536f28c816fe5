// Gives word vectors and contexts other norms than their own (kernels/options/head_norms.h) in a
// pass over a head's contexts (HeadBlocks). Words get a factor in the score's loops, without a copy
// of the vectors; contexts are scaled copies of a block's rows.
#pragma once

#include <span>

#include "kernels/ops.h"
#include "kernels/options/head_norms.h"

namespace nine {

/// If `norms` is empty, no function needs to be called.
class HeadScaling {
 public:
  explicit HeadScaling(const HeadNorms& norms) : norms_(norms) {}

  bool words() const { return static_cast<bool>(norms_.word); }
  bool contexts() const { return static_cast<bool>(norms_.context); }
  /// True if the contexts' norm is the largest norm of this pass's rows.
  bool of_these_rows() const {
    return norms_.context.of_batch() && (norms_.training || !norms_.running);
  }

  /// Makes each component's kernel scaled_lin, with its statistics. Where dw has memory, allocates
  /// dstats and sets it to zero. Components that share word vectors share statistics and dstats.
  /// The memory belongs to the arena, in the caller's Scope. Error: the ratios are missing, or
  /// their number is not the number of words.
  void start_words(std::span<ops::HeadComponent> components, std::span<const OutputView> dw,
                   std::span<View> dstats, Arena& arena);
  /// Adds the gradients through the words' norms to dw.
  void finish_words(std::span<const ops::HeadComponent> components, std::span<const OutputView> dw,
                    std::span<const View> dstats) const;

  /// Allocates memory for `size` components with `rows` rows of d numbers, block_rows rows at a
  /// time.
  void start_contexts(int64_t size, int64_t rows, int64_t block_rows, int64_t d, DType dtype,
                      bool gradients, Arena& arena);
  /// For of_these_rows(): measure() takes rows first, first + 1, ... of component k's contexts.
  /// finish_measuring(), called after all rows, finds the largest norm of the rows that have a
  /// target.
  void measure(int64_t k, int64_t first, const View& contexts);
  void finish_measuring(const View& targets);
  /// Returns G of each component, (K) float64.
  View sizes() const { return sizes_ ? sizes_.view().reshaped({sizes_.elements()}) : View{}; }
  /// Returns the stacked rows of a block, component after component `padded` rows apart, scaled to
  /// norm G. Padding rows are 0.
  View scaled(const View& stacked, int64_t rows, int64_t padded);
  /// Returns (K, rows) float64 for HeadGradients::dcontext_norm; empty if no gradient needs it.
  View dcontext_norm(int64_t rows) const;
  /// Replaces dscaled, the gradient of component k's scaled contexts of the last block, by the
  /// gradient of the contexts, without the part through G.
  void backward(int64_t k, const View& contexts, const View& dscaled);
  /// The gradient through G: the row of component k with the largest norm, or -1, and dL/dG over
  /// that norm. largest() waits for a GPU.
  struct Largest {
    int64_t row = -1;
    double gradient = 0;
  };
  Largest largest(int64_t k) const;

 private:
  View ratios(size_t k, int64_t words) const;
  View running(int64_t k) const;

  const HeadNorms& norms_;
  Tensor word_norms_;   // (copies, V) float64: of word vectors that are not shared
  Tensor sizes_;        // (K, 1) float64
  Tensor all_norms_;    // (K, N) float64, where of_these_rows()
  Tensor rows_;         // (K, 1) int32: the row with the largest norm
  Tensor block_norms_;  // (K, block_rows) float64
  Tensor along_;        // (block_rows): d loss / d G of each row, through the scaled contexts
  Tensor dcontext_;     // (K * block_rows): d loss / d G of each row, through the targets' scores
  Tensor dsizes_;       // (K, 1) float64: their sums
  Tensor scaled_;       // (K * block_rows, d)
};

}  // namespace nine
