// The CPU's inner loops over every kernel of kernels/scores/all.h. Each loop is compiled once for
// each kernel, whose functions are inlined into it, and called once for a tile.
//
// A tile is up to kHeadTile words by one panel of kHeadPanel rows. Elements of one word lie
// together, row after row, so that every loop handles one row in each SIMD lane.
#pragma once

#include "core/vmath.h"
#include "kernels/ops.h"

namespace nine::cpu {

inline constexpr int64_t kLanes = ops::kHeadPanel;

/// One component's products z(v, r) of a tile, and the other inputs of its scores.
template <class T>
struct HeadTile {
  /// [word][row], `ld` elements from one word to the next. A kernel of C parts has C * C such
  /// planes, one for each pair i * C + j of parts, `plane` elements apart.
  T* z = nullptr;
  int64_t plane = 0, ld = 0;
  int64_t words = 0;
  /// Scores that head_scores has kept: [word][row], scores_ld elements from one word to the next;
  /// null: they have to be computed.
  const T* scores = nullptr;
  int64_t scores_ld = 0;
  const double* word_stats = nullptr;  ///< [word][stats]
  const T* row_stats = nullptr;        ///< [stats][kLanes]
  const T* bias = nullptr;             ///< [word], or null
};

/// Products of one row with some words, one word after the other: for decoding, where rows are too
/// few to fill SIMD lanes (kernels/decoding/head_decoder.h).
template <class T>
struct HeadRow {
  /// [word]. A kernel of C parts has C * C such planes, one for each pair i * C + j of parts,
  /// `plane` elements apart.
  const T* z = nullptr;
  int64_t plane = 0;
  int64_t words = 0;
  const T* word_stats = nullptr;  ///< [stats][word]
  int64_t word_stride = 0;        ///< elements from one statistic to the next
  const T* row_stats = nullptr;   ///< [stats]
};

/// The inputs of dL/dS of a panel's rows, one element for each row: dL/dS = weight * p -
/// shift, with p = exp(S - lse - lse_rest).
template <class T>
struct HeadLanes {
  using Index = typename FloatTraits<T>::Int;
  /// lse rounded to T, and what the rounding has left out: large scores stay exact.
  const T *lse = nullptr, *lse_rest = nullptr;
  const T *weight = nullptr, *shift = nullptr;
  /// Targets. dL/dS of a row's target is set to 0 here: it does not go through the product.
  const Index* target = nullptr;
};

/// Where the gradients are summed. All are added to, and have one number for each row.
template <class T>
struct HeadSums {
  T* bias = nullptr;        ///< [word][kLanes]: dL/dS; may be null
  T* word_stats = nullptr;  ///< [word][stats][kLanes]
  T* row_stats = nullptr;   ///< [stats][kLanes]
};

/// What a kernel's struct is made from: a score function, for vectors of `dims` numbers.
struct KernelArgs {
  Score score;
  int64_t dims = 0;
};

/// The loops of one kernel.
template <class T>
struct HeadLoops {
  using Index = typename HeadLanes<T>::Index;
  /// scores [word][kLanes] = S + bias.
  void (*values)(const KernelArgs&, const HeadTile<T>&, T* scores);
  /// scores [word] = S; may be z of a kernel of one part.
  void (*row_values)(const KernelArgs&, const HeadRow<T>&, T* scores);
  /// z becomes dL/dz of a tile whose first word is `word`.
  void (*gradients)(const KernelArgs&, const HeadTile<T>&, const HeadLanes<T>&, Index word,
                    const HeadSums<T>&);
  /// The same for a given dL/dS, `up` [word][kLanes].
  void (*slopes)(const KernelArgs&, const HeadTile<T>&, const T* up, const HeadSums<T>&);
  /// sums [number][kLanes] += up dS/d(number), of the learned numbers of the score in their order.
  /// Before the products are overwritten.
  void (*number_gradients)(const KernelArgs&, const HeadTile<T>&, const T* up, T* sums);
  /// out [number] = dS/d(number) of the learned numbers, from whole vectors.
  void (*exact_number_slopes)(const KernelArgs&, const T* w, const T* h, double* out);
  /// needs_exact() of a pair (kernels/scores/score.h), given the statistics of both vectors (those
  /// of h are kLanes elements apart); null for kernels without it.
  bool (*needs_exact)(T z, const double* w, const T* h);
  /// Whether any of those vectors, with statistics [vector][stats], is_extreme() (kernels/scores/
  /// score.h); null for kernels without it.
  bool (*any_extreme)(const KernelArgs&, const double* stats, int64_t vectors);
  /// The statistics s of a vector x of `dims` numbers, and dx += ds * d stats / dx.
  void (*stats)(const KernelArgs&, const T* x, double* s);
  void (*stats_backward)(const KernelArgs&, const T* x, const double* s, const double* ds, T* dx);
  /// S of whole vectors, computed from them.
  double (*exact)(const KernelArgs&, const T* w, const T* h);
  /// For kernels with kExactTarget: dw += up dS/dw, dh += up dS/dh; either may be null. For the
  /// others: returns dS/dz.
  double (*exact_slope)(const KernelArgs&, const T* w, const T* h, double up, T* dw, T* dh);
  /// Whether the slopes that exact_slope takes are finite; null but for formulas.
  bool (*finite_slopes)(const KernelArgs&, const T* w, const T* h);
};

/// Where the loops of a kernel are found that were compiled for one instruction set
/// (core/cpu/isa.h); null of a kind that has no kernel.
struct HeadLoopTables {
  const HeadLoops<float>* (*of_float)(ScoreKind) = nullptr;
  const HeadLoops<double>* (*of_double)(ScoreKind) = nullptr;
};

/// The loops over formulas, likewise (kernels/expression/cpu/expression_loops.cpp).
struct ExpressionLoopTables {
  const HeadLoops<float>* of_float = nullptr;
  const HeadLoops<double>* of_double = nullptr;

  template <class T>
  const HeadLoops<T>* of() const {
    if constexpr (std::is_same_v<T, float>) {
      return of_float;
    } else {
      return of_double;
    }
  }
};

/// A kernel for vectors of d numbers, with the loops of the instruction set in use.
template <class T>
struct HeadKernel : scores::Layout {
  HeadKernel(const Score& s, int64_t d);

  KernelArgs args;
  const HeadLoops<T>* loops;
  const char* name;
};

}  // namespace nine::cpu
