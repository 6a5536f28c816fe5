// The CUDA kernels over one component of a block of the kernel softmax. Each is compiled once for
// each score function of kernels/scores/all.h, from the struct that the CPU's loops use too.
#pragma once

#include "core/log_sum_exp.h"
#include "cuda/launch.cuh"
#include "kernels/ops.h"

namespace nine::cuda {

inline constexpr int64_t kSplitWords = 512;  ///< words of a partial sum over the vocabulary

/// One component's products with a run of words, and the other inputs of its scores. The product of
/// row r and word v, of the pair p of parts, is z[v * ld + p * padded + r]; a kernel without parts
/// has one pair.
template <class T>
struct ComponentRun {
  T* z;
  int64_t ld;
  int64_t word, words;  ///< the run's first word, and how many
  /// Rows of contexts, and the same rounded up to panels; products of padding rows are 0 or
  /// undefined.
  int64_t rows, padded;
  const double* word_stats;    ///< [word of the run][stats]
  const T* row_stats;          ///< [stats][padded]
  const T* bias;               ///< [word of the run], or null
  const int32_t* targets;      ///< [row]
  const double* target_score;  ///< [row]
  T scale;                     ///< of the kernel's scores
};

/// Running sums over the scores S of some words: of exponentials, and of S.
template <class T>
struct RunningSum : RunningLogSumExp<T, double> {
  double scores = 0;
};

/// The inputs of dL/dS of a component's rows: weight * p - shift with p = exp(S - lse - lse_rest),
/// but target_slope for the target.
template <class T>
struct HeadLanes {
  /// [row]: lse rounded to T and what the rounding has left out, so that large scores stay exact.
  const T *lse, *lse_rest;
  const T* weight;             ///< [row]
  T shift;                     ///< of rows with a target
  const double* target_slope;  ///< [row]: dL/dS of the target
  const T* target_dz;          ///< [row]: dL/dz of the target's product
  /// [word of the run][padded]: dL/dS where it has been computed already; or null.
  const T* up;
  /// [word of the run][padded]: S; for kernels of parts.
  const T* scores;
};

/// Where the gradients are summed; what is null is not computed.
template <class T>
struct HeadSums {
  T* bias;             ///< [word of the run]
  bool add_bias;       ///< or overwrite
  double* word_stats;  ///< [word of the run][stats], added to
  T* row_stats;        ///< [tile of kTileWords words][stats][padded], overwritten
  T* chunks;           ///< memory for [slope_chunks][1 + gradients of statistics][word of the run]
};
inline constexpr int64_t kTileWords = 64;

/// The backward pass over products cuts the rows of a tile of words into chunks of at most
/// kChunkPanels panels of 32 rows, so that there are enough blocks for a large GPU.
inline constexpr int64_t kChunkPanels = 8;
inline int64_t slope_chunks(int64_t padded) {
  return (padded / kWarp + kChunkPanels - 1) / kChunkPanels;
}
/// Rows of a chunk: whole panels, about as many in each.
NINE_HD inline int64_t rows_of_chunk(int64_t padded) {
  const int64_t panels = padded / kWarp, chunks = (panels + kChunkPanels - 1) / kChunkPanels;
  return (panels + chunks - 1) / chunks * kWarp;
}

/// Contexts or words of one component as vectors: `count` of them, ld elements apart.
template <class T>
struct Vectors {
  const T* data;
  int64_t ld, count;
};

/// Components of one score that one launch computes: the words of the next component lie `words`
/// numbers further, its contexts `rows` rows, and its results behind this one's.
struct Alike {
  int64_t count = 1, words = 0, rows = 0;
};

/// What all launches of a component are given. `d` is the size of its vectors.
struct HeadScore {
  CudaDevice& device;
  const Score& score;
  int64_t d;
};

/// Rows of contexts and the words that are their targets, for components that share a launch.
template <class T>
struct TargetRows {
  Vectors<T> w, h;
  Alike alike;
  const int32_t* targets;  ///< [row]

  int64_t pairs() const { return alike.count * h.count; }
};

/// Functions that launch the CUDA kernels of one score function.
template <class T>
struct HeadLaunches {
  /// out [word of the run][padded] = S + bias, the targets' exact.
  void (*values)(const HeadScore&, const ComponentRun<T>&, T* out);
  /// out [split of kSplitWords words][padded]: sums over the scores with bias.
  void (*running)(const HeadScore&, const ComponentRun<T>&, RunningSum<T>* out);
  /// z becomes dL/dz.
  void (*slopes)(const HeadScore&, const ComponentRun<T>&, const HeadLanes<T>&, const HeadSums<T>&);
  /// Statistics in double, [vector][stats]; and of contexts as T, [stats][padded].
  void (*word_stats)(const HeadScore&, const Vectors<T>&, double* out);
  void (*row_stats)(const HeadScore&, const Vectors<T>&, const Alike&, int64_t padded, T* out);
  /// dx += dstats * d stats / dx. Of words: dstats [vector][stats]; of rows: [stats][padded].
  void (*stats_backward)(const HeadScore&, const Vectors<T>&, const double* dstats,
                         int64_t by_vector, int64_t by_stat, T* dx, int64_t ldx);
  /// out [component][row] = S of row and target, from the vectors; nothing where there is none. A
  /// wrong target is reported as that of first_row + row.
  void (*exact)(const HeadScore&, const TargetRows<T>&, int64_t first_row, const T* bias,
                double* out);
  /// target_dz [component][row] = up dS/dz of the target's product; 0 for kernels whose target does
  /// not go through the product.
  void (*target_slopes)(const HeadScore&, const TargetRows<T>&, const double* up, T* target_dz);
  /// Of those kernels: dh += up dS/dh (unless dh is null), and dw [row] = up dS/dw of the row's
  /// target, (rows, d), unless dw is null. One component's.
  void (*exact_slopes)(const HeadScore&, const TargetRows<T>&, const double* up, T* dh, int64_t ldh,
                       T* dw);
  /// out [learned number] += the sum of up dS/d(number), from products that are not yet
  /// overwritten.
  void (*numbers)(const HeadScore&, const ComponentRun<T>&, const T* up, double* out);
  /// The same of the rows' targets, from the vectors. One component's.
  void (*exact_numbers)(const HeadScore&, const TargetRows<T>&, const double* up, double* out);
};

/// A kernel for vectors of d numbers.
template <class T>
struct HeadKernel : scores::Layout {
  HeadKernel(const Score& s, int64_t d);

  const HeadLaunches<T>* launches;
};

}  // namespace nine::cuda
