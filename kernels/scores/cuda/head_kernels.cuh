// Declares the CUDA kernels over one component of a block of the kernel softmax. Each is compiled
// once for each score function of kernels/scores/all.h, from the struct that the CPU's loops use
// too.
#pragma once

#include "core/log_sum_exp.h"
#include "cuda/launch.cuh"
#include "kernels/ops.h"

namespace nine::cuda {

inline constexpr int64_t kSplitWords = 512;  ///< words of a partial sum over the vocabulary

/// One component's products with a run of words, and the other inputs of its scores. The product of
/// row r and word v for the pair p of parts is z[v * ld + p * padded + r]; a kernel without parts
/// has one pair.
template <class T>
struct ComponentRun {
  T* z;
  int64_t ld;
  int64_t word, words;  ///< the run's first word, and the number of words
  /// The number of rows of contexts, and that number rounded up to panels. Products of padding rows
  /// are 0 or undefined.
  int64_t rows, padded;
  const double* word_stats;    ///< [word of the run][stats]
  const T* row_stats;          ///< [stats][padded]
  const T* bias;               ///< [word of the run], or null
  const int32_t* targets;      ///< [row]
  const double* target_score;  ///< [row]
  T scale;                     ///< factor of the kernel's scores
};

/// Running sums over the scores S of some words: of exponentials and of S.
template <class T>
struct RunningSum : RunningLogSumExp<T, double> {
  double scores = 0;
};

/// The inputs of dL/dS for a component's rows: weight * p - shift with p = exp(S - lse - lse_rest),
/// and target_slope for the target.
template <class T>
struct HeadLanes {
  /// [row]: lse rounded to T, and the rounding error, so that large scores stay exact.
  const T *lse, *lse_rest;
  const T *weight, *shift;     ///< [row]
  const double* target_slope;  ///< [row]: dL/dS of the target
  const T* target_dz;          ///< [row]: dL/dz of the target's product
  /// [word of the run][padded]: dL/dS if it is already computed; else null.
  const T* up;
  /// [word of the run][padded]: S, for kernels of parts.
  const T* scores;
};

/// The sums of the gradients; sums that are null are not computed.
template <class T>
struct HeadSums {
  T* bias;             ///< [word of the run]
  bool add_bias;       ///< true: add; false: overwrite
  double* word_stats;  ///< [word of the run][stats], added to
  T* row_stats;        ///< [tile of kTileWords words][stats][padded], overwritten
  T* chunks;           ///< memory for [slope_chunks][1 + gradients of statistics][word of the run]
};
inline constexpr int64_t kTileWords = 64;

/// The backward pass over products cuts the rows of a tile of words into chunks of at most
/// kChunkPanels panels of 32 rows. A large GPU then has enough blocks.
inline constexpr int64_t kChunkPanels = 8;
inline int64_t slope_chunks(int64_t padded) {
  return (padded / kWarp + kChunkPanels - 1) / kChunkPanels;
}
/// Returns the rows of a chunk: whole panels, about equal numbers in each chunk.
NINE_HD inline int64_t rows_of_chunk(int64_t padded) {
  const int64_t panels = padded / kWarp, chunks = (panels + kChunkPanels - 1) / kChunkPanels;
  return (panels + chunks - 1) / chunks * kWarp;
}

/// Contexts or words of one component as vectors: `count` vectors, ld elements apart.
template <class T>
struct Vectors {
  const T* data;
  int64_t ld, count;
};

/// Components of one score that one launch computes. The words of the next component lie `words`
/// numbers further, its contexts `rows` rows further, and its results after this component's.
struct Alike {
  int64_t count = 1, words = 0, rows = 0;
};

/// The common arguments of a component's launches. `d` is the size of its vectors.
struct HeadScore {
  CudaDevice& device;
  const Score& score;
  int64_t d;
};

/// Rows of contexts and their targets' words, for components that share a launch.
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
  /// Computes out [word of the run][padded] = S + bias; the targets' scores are exact.
  void (*values)(const HeadScore&, const ComponentRun<T>&, T* out);
  /// Computes out [split of kSplitWords words][padded]: sums over the scores with bias.
  void (*running)(const HeadScore&, const ComponentRun<T>&, RunningSum<T>* out);
  /// Replaces z by dL/dz.
  void (*slopes)(const HeadScore&, const ComponentRun<T>&, const HeadLanes<T>&, const HeadSums<T>&);
  /// Compute statistics in double, [vector][stats]; for contexts as T, [stats][padded].
  void (*word_stats)(const HeadScore&, const Vectors<T>&, double* out);
  void (*row_stats)(const HeadScore&, const Vectors<T>&, const Alike&, int64_t padded, T* out);
  /// dx += dstats * d stats / dx. For words dstats is [vector][stats], for rows [stats][padded].
  void (*stats_backward)(const HeadScore&, const Vectors<T>&, const double* dstats,
                         int64_t by_vector, int64_t by_stat, T* dx, int64_t ldx);
  /// Computes out [component][row] = S of row and target, from the vectors; leaves rows without a
  /// target. Reports a wrong target as that of row first_row + row.
  void (*exact)(const HeadScore&, const TargetRows<T>&, int64_t first_row, const T* bias,
                double* out);
  /// Computes target_dz [component][row] = up dS/dz of the target's product; 0 for kernels whose
  /// target bypasses the product.
  void (*target_slopes)(const HeadScore&, const TargetRows<T>&, const double* up, T* target_dz);
  /// For those kernels, one component: dh += up dS/dh (unless dh is null), and dw [row] = up dS/dw
  /// of the row's target, (rows, d), unless dw is null.
  void (*exact_slopes)(const HeadScore&, const TargetRows<T>&, const double* up, T* dh, int64_t ldh,
                       T* dw);
  /// Adds the sum of up dS/d(number) to out [learned number], from products that are not yet
  /// overwritten.
  void (*numbers)(const HeadScore&, const ComponentRun<T>&, const T* up, double* out);
  /// Does the same for the rows' targets, from the vectors, for one component.
  void (*exact_numbers)(const HeadScore&, const TargetRows<T>&, const double* up, double* out);
};

/// A kernel for vectors of d numbers.
template <class T>
struct HeadKernel : scores::Layout {
  HeadKernel(const Score& s, int64_t d);

  const HeadLaunches<T>* launches;
};

}  // namespace nine::cuda
