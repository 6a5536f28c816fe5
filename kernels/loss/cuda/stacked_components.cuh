// A block of the kernel softmax (ops::HeadBlock) with CUDA: its components, the places of their
// products and scores in memory, and the loop over runs of words.
//
// The products of one word lie together, row after row, as on the CPU. If the block keeps its
// products, one run is the whole vocabulary. Otherwise a run has as many words as fit in the limit
// of kernels/loss/cuda/spare_bytes.h, and its products are computed when they are needed.
#pragma once

#include <vector>

#include "core/arena.h"
#include "cuda/bf16_matmul.h"
#include "cuda/blas.cuh"
#include "kernels/options/angle.h"
#include "kernels/scores/cuda/head_kernels.cuh"
#include "kernels/scores/cuda/warp_vectors.cuh"

namespace nine::cuda {

using ops::HeadBlock;
using ops::kHeadPanel;

/// One component: its kernel, and its place in the block's stacked rows, products and statistics.
template <class T>
struct StackedComponent {
  HeadKernel<T> kernel;
  const Score* score = nullptr;
  View w, pieces;                      ///< see ops::HeadComponent
  const double* word_stats = nullptr;  ///< [word][stats]
  const T* row_stats = nullptr;        ///< [stats][padded]
  int64_t first_column = 0;            ///< its first column in a row of products
  bool shares_words = false;           ///< true if it shares word vectors with the component before
};

/// The pairs of a row and its target for one component, as vectors with an angle between them. For
/// blocks that are by_angle().
template <class T>
struct AngleTargets {
  Vectors<T> w, h;
  const int32_t* targets;
  scores::GivenNorms given;  ///< norms of word 0; the norms of the next word stand 2 numbers
                             ///< further
  Margin margin;

  /// Called by a warp.
  NINE_D scores::AnglePair<InWarp<T>> pair(int64_t r, int64_t y) const {
    return {in_warp(w.data + y * w.ld),
            in_warp(h.data + r * h.ld),
            d,
            {given.word != nullptr ? given.word + 2 * y : nullptr, given.context}};
  }
  int64_t d;
};

/// A run of consecutive words of the vocabulary.
struct WordRun {
  int64_t begin, count;
};

/// A block, as a stack of components.
template <class T>
class StackedComponents {
 public:
  /// Computes the rows' statistics. Errors name `op`. Takes memory of the arena, in the caller's
  /// Scope. With `scores`, a run also has score planes: one for each component, and one more.
  StackedComponents(const char* op, const HeadBlock& block, bool scores, Arena& arena);

  CudaDevice& device() const { return device_; }
  const HeadBlock& block() const { return block_; }
  int64_t size() const { return block_.size(); }
  const StackedComponent<T>& operator[](int64_t k) const {
    return components_[static_cast<size_t>(k)];
  }
  int64_t rows() const { return block_.rows(); }
  int64_t padded() const { return block_.padded_rows(); }
  /// Returns the number of partial sums over the vocabulary.
  int64_t splits() const { return (block_.words() + kSplitWords - 1) / kSplitWords; }
  const int32_t* targets() const { return static_cast<int32_t*>(block_.targets.data); }

  /// Calls f(run) for all runs of the vocabulary. A run begins at a multiple of kSplitWords.
  template <class F>
  void for_runs(F&& f) const {
    for (int64_t begin = 0; begin < block_.words(); begin += run_words_)
      f(WordRun{begin, std::min(run_words_, block_.words() - begin)});
  }
  /// Computes the products of the run for all components.
  void multiply(const WordRun& run) const;
  /// Does the same unless the block keeps its products.
  void ensure_products(const WordRun& run) const {
    if (!block_.products) multiply(run);
  }
  /// Returns component k's products with the run of words, and the other inputs of its scores.
  ComponentRun<T> component_run(int64_t k, const WordRun& run) const;
  /// Fills score_plane(0 ... size() - 1).
  void scores(const WordRun& run) const;
  /// Returns a plane [word of the run][padded].
  T* score_plane(int64_t k) const { return score_planes_ + k * run_words_ * padded(); }

  /// Returns the products of the run's first word. Those of each next word stand products_ld()
  /// numbers further.
  T* products(const WordRun& run) const {
    return block_.products ? static_cast<T*>(block_.products.data) + run.begin * block_.products.ld
                           : spare_;
  }
  int64_t products_ld() const { return block_.products ? block_.products.ld : columns_; }
  /// Returns how many components from k on one matrix product can compute: they share word vectors
  /// and multiply whole contexts.
  int64_t joint_count(int64_t k) const;
  /// The factors and the result of a product of component k, or of joint_count(k) components from k
  /// on, for parts i of words and j of contexts: words (words of the run, product_dims), contexts
  /// (rows, product_dims), plane (words of the run, rows). A factor has the block's pieces; in a
  /// block without pieces it is the first of Pieces, in T.
  Pieces word_factor(int64_t k, const WordRun& run, int64_t i) const;
  Pieces context_factor(int64_t k, int64_t j) const;
  View plane(int64_t k, const WordRun& run, int64_t i, int64_t j) const;
  /// Returns dL/dz, which the plane holds, as a factor: some columns, then the next ones. Cuts it
  /// into pieces in the plane's memory; three pieces also need `rest`, bfloat16 memory for
  /// rest_columns() numbers for each word of a run.
  std::vector<PieceColumns> slope_factor(int64_t k, const WordRun& run, int64_t i, int64_t j,
                                         const View& rest) const;
  int64_t rest_columns() const;
  /// Submits c = op(a) op(b) or, with c.add, c += op(a) op(b), of such factors.
  void multiply(const Pieces& a, bool transpose_a, const Pieces& b, bool transpose_b,
                const OutputView& c) const;
  /// Returns the rows of a product of `count` components together.
  int64_t product_rows(int64_t count) const { return size() == 1 ? rows() : count * padded(); }
  /// Returns how many components from k on one launch can compute: they have the same score, and
  /// their word vectors lie at equal distances.
  Alike alike(int64_t k) const;
  /// Returns the first row of component k's contexts.
  const T* context(int64_t k) const {
    return static_cast<T*>(block_.h.data) + k * padded() * block_.h.ld;
  }
  Vectors<T> contexts(int64_t k) const { return {context(k), block_.h.ld, rows()}; }
  Vectors<T> words(int64_t k) const {
    return {static_cast<T*>((*this)[k].w.data), (*this)[k].w.ld, block_.words()};
  }
  /// Returns the arguments of component k's launches.
  HeadScore score_of(int64_t k) const { return {device_, *(*this)[k].score, block_.dims()}; }
  /// Returns component k's rows and targets; with `alike`, those of all components that can share a
  /// launch.
  TargetRows<T> target_rows(int64_t k, const Alike& alike = {}) const {
    return {words(k), contexts(k), alike, targets()};
  }
  AngleTargets<T> angle_targets(int64_t k) const {
    return {words(k),     contexts(k), targets(), block_.given_norms(k, 0), block_.options.margin,
            block_.dims()};
  }
  /// Returns component k's rows of one of the block's (K, R) float64 results.
  double* kept(const View& v, int64_t k) const {
    return v ? static_cast<double*>(v.data) + k * rows() : nullptr;
  }

 private:
  // The pieces of part of the vectors that head_pieces has cut: product_dims columns from `column`.
  Pieces pieces_in(const View& cut, bool left, int64_t column, int64_t columns) const;

  const char* op_;
  const HeadBlock& block_;
  CudaDevice& device_;
  std::vector<StackedComponent<T>> components_;
  int64_t columns_ = 0;    // products of one word, of all components
  int64_t run_words_ = 0;  // words of a run
  T *spare_ = nullptr, *score_planes_ = nullptr;
};

/// Returns temporary memory of the arena, on the device, for n numbers.
template <class T>
T* pool_array(Arena& arena, int64_t n) {
  return static_cast<T*>(arena.temporary({std::max<int64_t>(1, n)}, dtype_of<T>).view().data);
}

/// The numbers of each row and component from which gradients and posteriors are computed.
template <class T>
struct StackLanes {
  /// Prepares the numbers for posteriors, without the weights, which the loss computes from
  /// posteriors.
  enum class Use { posteriors, gradients };
  StackLanes(const StackedComponents<T>& stack, Use use, double row_weight, Arena& arena);
  int64_t rows;
  T *lse, *lse_rest, *weight = nullptr, *log_prior;  ///< [component][row]
  T* shift = nullptr;                                ///< [row]: the row's weight times `spread`
};

/// Replaces the run's scores by log pi_k + log p_k(v) for all components, and sets
/// score_plane(size()) to log p(v).
template <class T>
void mixture(const StackedComponents<T>& stack, const StackLanes<T>& lanes, const WordRun& run);

}  // namespace nine::cuda
