// How a pass over a head's contexts (HeadBlocks) gives word vectors and contexts other norms than
// their own (kernels/options/head_norms.h): word vectors by a factor of each word in the score's
// loops, so that there is no copy of them, contexts by scaled copies of a block's rows.
#pragma once

#include <span>

#include "kernels/ops.h"
#include "kernels/options/head_norms.h"

namespace nine {

/// Where `norms` is empty, nothing needs to be called.
class HeadScaling {
 public:
  explicit HeadScaling(const HeadNorms& norms) : norms_(norms) {}

  bool words() const { return static_cast<bool>(norms_.word); }
  bool contexts() const { return static_cast<bool>(norms_.context); }
  /// Whether the contexts' norm is the largest of the rows of this pass.
  bool of_these_rows() const {
    return norms_.context.of_batch() && (norms_.training || !norms_.running);
  }

  /// Makes each component's kernel scaled_lin, with its statistics; and where dw has memory, zeros
  /// in dstats. Components that share word vectors share both. Memory is the arena's, in the
  /// caller's Scope. Error: the ratios are missing or not one a word.
  void start_words(std::span<ops::HeadComponent> components, std::span<const OutputView> dw,
                   std::span<View> dstats, Arena& arena);
  /// Adds the gradients through the words' norms to dw.
  void finish_words(std::span<const ops::HeadComponent> components, std::span<const OutputView> dw,
                    std::span<const View> dstats) const;

  /// Memory for `size` components with `rows` rows, block_rows at a time, of d numbers.
  void start_contexts(int64_t size, int64_t rows, int64_t block_rows, int64_t d, DType dtype,
                      bool gradients, Arena& arena);
  /// of_these_rows(): rows first, first + 1, ... of component k's contexts; then, with all of them
  /// measured, the largest of the rows that have a target.
  void measure(int64_t k, int64_t first, const View& contexts);
  void finish_measuring(const View& targets);
  /// Gives a block the norms of its contexts.
  void give(ops::HeadBlock& block) const;
  /// The stacked rows of a block, component after component `padded` apart, with that norm;
  /// padding is 0.
  View scaled(const View& stacked, int64_t rows, int64_t padded);
  /// Has the gradient by those norms written, of so many rows, where a gradient needs it.
  void collect(ops::HeadGradients& gradients, int64_t rows) const;
  /// dscaled, of component k's contexts of the last block, becomes their gradient, without what
  /// passes through G.
  void backward(int64_t k, const View& contexts, const View& dscaled);
  /// Where gradients pass through G: the row of component k that has the largest norm, or -1, and
  /// dL/dG over that norm. Waits for a GPU.
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
  Tensor dcontext_;     // (K * block_rows): the same, through the targets' scores
  Tensor dsizes_;       // (K, 1) float64: their sums
  Tensor scaled_;       // (K * block_rows, d)
};

}  // namespace nine
