// Applies the word norm and the context norm (kernels/options/head_norms.h) in a pass over a head's
// contexts (HeadBlocks). Word vectors are not copied: the loops of the score multiply by a factor
// for each word. Contexts are copied: a block's rows are scaled.
#pragma once

#include <span>

#include "kernels/ops.h"
#include "kernels/options/head_norms.h"

namespace nine {

/// Scales word vectors and contexts of one pass to the norms that `norms` gives. If `norms` is
/// empty, no function has to be called.
class HeadScaling {
 public:
  explicit HeadScaling(const HeadNorms& norms) : norms_(norms) {}

  bool words() const { return static_cast<bool>(norms_.word); }
  bool contexts() const { return static_cast<bool>(norms_.context); }
  /// True if the contexts' norm is the largest norm of the rows of this pass.
  bool of_these_rows() const {
    return norms_.context.of_batch() && (norms_.training || !norms_.running);
  }

  /// Sets each component's kernel to scaled_lin, with its statistics. If dw has memory, also sets
  /// dstats to zeros. Components that share word vectors share statistics and dstats. Takes memory
  /// of the arena, in the caller's Scope. Error: not one ratio for each word.
  void start_words(std::span<ops::HeadComponent> components, std::span<const OutputView> dw,
                   std::span<View> dstats, Arena& arena);
  /// Adds the gradients that pass through the words' norms to dw.
  void finish_words(std::span<const ops::HeadComponent> components, std::span<const OutputView> dw,
                    std::span<const View> dstats) const;

  /// Takes memory for `size` components with `rows` rows of d numbers, block_rows rows at a time.
  void start_contexts(int64_t size, int64_t rows, int64_t block_rows, int64_t d, DType dtype,
                      bool gradients, Arena& arena);
  /// For of_these_rows(): measure() computes the norms of rows first, first + 1, ... of component
  /// k's contexts. After all rows are measured, finish_measuring() finds the largest norm of the
  /// rows that have a target.
  void measure(int64_t k, int64_t first, const View& contexts);
  void finish_measuring(const View& targets);
  /// Passes the norms of its contexts to a block.
  void give(ops::HeadBlock& block) const;
  /// Returns the stacked rows of a block, scaled to their norm. The components' rows are `padded`
  /// rows apart; padding is 0.
  View scaled(const View& stacked, int64_t rows, int64_t padded);
  /// Makes ops::head_gradients write the gradient with respect to the contexts' norms of `rows`
  /// rows, if a gradient needs it.
  void collect(ops::HeadGradients& gradients, int64_t rows) const;
  /// Turns dscaled, the gradient with respect to component k's scaled contexts of the last block,
  /// into the gradient with respect to the contexts, without the part that passes through G.
  void backward(int64_t k, const View& contexts, const View& dscaled);
  /// If gradients pass through G: the row of component k that has the largest norm, or -1, and
  /// dL/dG divided by this norm. Waits for the GPU.
  struct Largest {
    int64_t row = -1;
    double gradient = 0;
  };
  Largest largest(int64_t k) const;

 private:
  View ratios(size_t k, int64_t words) const;
  View running(int64_t k) const;

  const HeadNorms& norms_;
  Tensor word_norms_;   // (copies, V) float64; one copy for components that share word vectors
  Tensor sizes_;        // (K, 1) float64
  Tensor all_norms_;    // (K, N) float64, if of_these_rows()
  Tensor rows_;         // (K, 1) int32: the row with the largest norm
  Tensor block_norms_;  // (K, block_rows) float64
  Tensor along_;        // (block_rows): dL/dG of each row through the scaled contexts
  Tensor dcontext_;     // (K * block_rows): the same, through the targets' scores
  Tensor dsizes_;       // (K, 1) float64: the sums of along_ and dcontext_
  Tensor scaled_;       // (K * block_rows, d)
};

}  // namespace nine
