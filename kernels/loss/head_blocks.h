// One pass of a head over its contexts, block by block. kernel_softmax and inference share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "core/interrupt.h"
#include "kernels/loss/head_scaling.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/ops.h"

namespace nine {

/// Sets the bytes of products that a block may have on a GPU; 0: the default, 512 MiB. For tests.
void set_gpu_block_bytes(int64_t bytes);
/// Sets the fewest stacked contexts of a pass that a GPU multiplies in bfloat16 pieces; 0: the
/// default, which depends on the number of pieces. For tests.
void set_gpu_rows_in_pieces(int64_t rows);
/// Sets the bytes of products that LeastMemory keeps for any block; 0: the default, 4 MiB. For
/// tests.
void set_least_block_bytes(int64_t bytes);

/// Assigns word vectors to components, computes the statistics of the word vectors and the prior
/// once, and cuts the contexts into blocks of rows. Computes the contexts tanh(C_k' h) of each
/// component for a group of blocks at a time.
class HeadBlocks {
 public:
  /// Checks all shapes of the contexts h (N, d) and the weights; errors name `op`. With `gradients`
  /// also allocates the weights' gradients; then construct the object outside of any Arena::Scope.
  HeadBlocks(const char* op, const HeadSpec& head, const Var& h, const HeadWeights& weights,
             bool gradients);
  HeadBlocks(const HeadBlocks&) = delete;
  HeadBlocks& operator=(const HeadBlocks&) = delete;

  int64_t rows() const { return contexts_.rows(); }
  int64_t size() const { return head_.size(); }
  int64_t words() const { return words_; }
  bool mixture() const { return head_.mixture; }

  /// Allocates temporary memory. Call it inside a Scope of the tape's arena that lasts until the
  /// last call. `targets`: (N) int32. `log_prior`: (N, K), filled for mixtures. `dh`: (N, d),
  /// receives the gradient of h, or empty. `block_rows`: HeadLoss::block_rows.
  void start(const View& targets, const ops::HeadBlockOptions& options, HeadMemory memory,
             int64_t block_rows, const View& log_prior, const View& dh);
  /// Sets the factors of the rows' weights and the place for the rows' losses, (N) each; a view
  /// without memory is not used.
  void set_rows(const View& factors, const View& losses);
  /// Sets the sums to which blocks add (ops::HeadGradients::left_out).
  void set_left_out(const View& sums) { left_out_ = sums; }
  /// Runs f(block, first row) over the blocks, in order. f must first call ops::head_scores,
  /// because nothing of the block has been computed before. Between blocks the caller may end the
  /// loop (core/interrupt.h).
  template <class F>
  void for_blocks(F&& f);
  /// Adds the gradients of a block's loss.
  void add_gradients(const ops::HeadBlock& block, double row_weight);
  /// Returns (N, K), the loss's gradient with respect to the prior's logits, which f fills; empty
  /// without a prior or without gradients.
  const View& dlogits() const { return dlogits_; }
  /// Adds the gradients through statistics and prior. Call it after the last block.
  void finish_gradients();

 private:
  struct Scratchpad {
    // Enough for a few dozen components; then the heap takes over.
    std::array<std::byte, 8192> bytes{};
    std::pmr::monotonic_buffer_resource memory{bytes.data(), bytes.size()};
  };

  // Returns the end of the block, or of the group, that begins at a row.
  int64_t block_end(int64_t first) const {
    return std::min(rows(), first + (first == 0 ? first_rows_ : block_rows_));
  }
  int64_t group_end(int64_t first) const {
    return std::min(rows(), first + (first == 0 ? first_group_rows_ : group_rows_));
  }
  void resolve_words(const char* op, bool gradients);
  void read_numbers(const char* op, bool gradients);
  void check_shapes(const char* op) const;
  void check_kernels(const char* op, const ops::HeadBlockOptions& options) const;
  void start_words();
  void cut_words();
  void start_biases();
  void choose_blocks(HeadMemory memory, int64_t block_rows);
  void choose_least_memory();
  void finish_number_gradients();
  void compute_contexts(int64_t first, int64_t count);
  void measure_contexts();
  void compute_context_gradients(int64_t first, int64_t count);
  void add_largest_gradient(int64_t k, const HeadScaling::Largest& largest);
  View stacked_contexts(int64_t first, int64_t count, int64_t group_first);
  ops::HeadBlock block_of(int64_t first, int64_t count, int64_t group_first);

  Scratchpad scratch_;
  const HeadSpec& head_;
  const HeadWeights& weights_;
  HeadScaling scaling_;
  Arena& arena_;
  View contexts_, targets_, log_prior_, dlogits_, dh_, bias_, target_bias_, row_factors_,
      row_losses_, left_out_;
  int64_t words_ = 0;             // size of the vocabulary
  int64_t block_rows_ = 0;        // contexts of a block after the first one
  int64_t first_rows_ = 0;        // contexts of the first block
  int64_t group_rows_ = 0;        // contexts of a group of blocks after the first one
  int64_t first_group_rows_ = 0;  // contexts of the first group
  int64_t group_first_ = 0;       // the first context of the current group
  int64_t products_ = 0;          // products of a word and a context, over all components
  int64_t kept_scores_ = 0;  // how many of those components keep their scores for the gradients
  int pieces_ = 0;           // of a factor on a GPU; see ops::HeadBlock
  ops::HeadBlockOptions options_;
  bool gradients_, later_block_ = false, later_dh_ = false;
  bool keeps_products_ = false;  // those of every block in turn
  bool products_in_dw_ = false;  // those of the first block, see LeastMemory
  std::pmr::vector<ops::HeadComponent> components_{&scratch_.memory};
  std::pmr::vector<OutputView> dw_{&scratch_.memory};
  std::pmr::vector<View> dstats_{&scratch_.memory};
  std::pmr::vector<OutputView> dnumber_{&scratch_.memory};   // one per learned number
  std::pmr::vector<double> number_slope_{&scratch_.memory};  // d number / d (stored value)
  OutputView dbias_, dprior_, dlatent_;
  View dnumbers_;  // float64, with respect to the numbers themselves; empty if not needed
  Tensor kept_, h_pieces_, block_products_, block_scores_, stack_, dstack_, latent_, dlatent_rows_;
};

template <class F>
void HeadBlocks::for_blocks(F&& f) {
  for (int64_t group = 0, end = 0; group < rows(); group = end) {
    end = group_end(group);
    group_first_ = group;
    compute_contexts(group, end - group);
    for (int64_t first = group, count = 0; first < end; first += count) {
      check_interrupt();
      count = std::min(block_end(first), end) - first;
      f(block_of(first, count, group), first);
    }
    if (gradients_) compute_context_gradients(group, end - group);
  }
}

/// Returns elements [begin, begin + count) of a vector; for a view without memory, a view without
/// memory.
View vector_part(const View& v, int64_t begin, int64_t count);

}  // namespace nine
