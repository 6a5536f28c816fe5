// A kernel's loops over one tile of products: each is compiled once a kernel (core/scores/all.h),
// inlined per element and called once a tile.
//
// A tile is up to kHeadTile words by one panel of rows, rows fastest: everything runs with one row
// a SIMD lane.
#pragma once

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::cpu {

inline constexpr int64_t kLanes = ops::kHeadPanel;

/// One component's products z(v, r) of a tile and what its scores take besides.
template <class T>
struct HeadTile {
  T* z = nullptr;  ///< [word][row], leading dimension ld; a kernel of parts has C * C planes of
                   ///< them, pair i * C + j
  int64_t plane = 0, ld = 0, words = 0;  ///< elements from one pair's products to the next pair's,
                                         ///< from word to word; words
  const T* scores = nullptr;  ///< kept by head_scores: [word][row], leading dimension scores_ld;
                              ///< null: to be computed
  int64_t scores_ld = 0;
  const double* word_stats = nullptr;  ///< [word][stats]
  const T* row_stats = nullptr;        ///< [stats][kLanes]
  const T* bias = nullptr;             ///< [word], or null
};

/// Products of one row with some words, words fastest: scores of a few rows, however few
/// (kernels/head_decoder.h).
template <class T>
struct HeadRow {
  const T* z = nullptr;  ///< [word]; a kernel of parts has C * C planes of them, pair i * C + j
  int64_t plane = 0, words = 0;   ///< elements from one pair's products to the next pair's; words
  const T* word_stats = nullptr;  ///< [stats][word]
  int64_t word_stride = 0;        ///< elements from one statistic's words to the next one's
  const T* row_stats = nullptr;   ///< [stats]
};

/// What the gradient of a panel's rows is made of.
template <class T>
struct HeadLanes {
  using Index = typename FloatTraits<T>::Int;
  const T *lse = nullptr,
          *lse_rest =
              nullptr;  ///< lse in two parts, so that large scores lose nothing to its rounding
  const T *weight = nullptr, *shift = nullptr;  ///< dL/dS = weight * p - shift
  const Index* target = nullptr;  ///< the rows' targets: their own gradient is left out, because it
                                  ///< does not come from the product
};

/// Where sums go; all are added to, with one lane a row.
template <class T>
struct HeadSums {
  T* bias = nullptr;        ///< [word][kLanes]: dL/dS; may be null
  T* word_stats = nullptr;  ///< [word][stats][kLanes]
  T* row_stats = nullptr;   ///< [stats][kLanes]
};

/// Which kernel, for vectors of how many numbers.
struct KernelOf {
  Score score;
  int64_t dims = 0;
};

/// The loops of one kernel.
template <class T>
struct HeadLoops {
  using Index = typename HeadLanes<T>::Index;
  /// scores [word][kLanes] = S + bias.
  void (*values)(const KernelOf&, const HeadTile<T>&, T* scores);
  /// scores [word] = S; may be z of a kernel of one part.
  void (*row_values)(const KernelOf&, const HeadRow<T>&, T* scores);
  /// z becomes dL/dz of a tile whose first word is `word`.
  void (*gradients)(const KernelOf&, const HeadTile<T>&, const HeadLanes<T>&, Index word,
                    const HeadSums<T>&);
  /// The same for a given dL/dS, `up` [word][kLanes].
  void (*slopes)(const KernelOf&, const HeadTile<T>&, const T* up, const HeadSums<T>&);
  /// For kernels that know when z has too few digits for their score, given both vectors'
  /// statistics (h: kLanes apart); else null.
  bool (*close)(T z, const double* w, const T* h);
  void (*stats)(const KernelOf&, const T* x, double* s);
  void (*stats_backward)(const KernelOf&, const T* x, const double* s, const double* ds, T* dx);
  /// S of whole vectors, computed from them.
  double (*exact)(const KernelOf&, const T* w, const T* h);
  /// For kernels with kExactTarget: dw += up dS/dw, dh += up dS/dh; either may be null. Otherwise
  /// dS/dz is what it returns.
  double (*exact_slope)(const KernelOf&, const T* w, const T* h, double up, T* dw, T* dh);
};

/// A kernel for vectors of d numbers.
template <class T>
struct HeadKernel : scores::Layout {
  HeadKernel(const Score& s, int64_t d);

  KernelOf of;
  const HeadLoops<T>* loops;
  const char* name;
};

}  // namespace nine::cpu
