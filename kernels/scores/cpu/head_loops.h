// The CPU's inner loops over every kernel of kernels/scores/all.h. Each loop is compiled once for
// each kernel, with the kernel's functions inlined, and called once for each tile.
//
// A tile is up to kHeadTile words by one panel of kHeadPanel rows. Elements of one word lie
// together, row after row, so that every loop handles one row per SIMD lane.
#pragma once

#include "core/vmath.h"
#include "kernels/ops.h"

namespace nine::cpu {

inline constexpr int64_t kLanes = ops::kHeadPanel;

/// One component's products z(v, r) of a tile, and the other inputs of its scores.
template <class T>
struct HeadTile {
  /// [word][row], `ld` elements from one word to the next. A kernel of C parts has C * C planes of
  /// this form, one for each pair i * C + j of parts, `plane` elements apart.
  T* z = nullptr;
  int64_t plane = 0, ld = 0;
  int64_t words = 0;
  /// Scores that head_scores has kept: [word][row], scores_ld elements from one word to the next;
  /// null: the loops compute them.
  const T* scores = nullptr;
  int64_t scores_ld = 0;
  const double* word_stats = nullptr;  ///< [word][stats]
  const T* row_stats = nullptr;        ///< [stats][kLanes]
  const T* bias = nullptr;             ///< [word], or null
};

/// Products of one row with some words, word after word. For decoding, where too few rows exist to
/// fill SIMD lanes (kernels/decoding/head_decoder.h).
template <class T>
struct HeadRow {
  /// [word]. A kernel of C parts has C * C planes of this form, one for each pair i * C + j of
  /// parts, `plane` elements apart.
  const T* z = nullptr;
  int64_t plane = 0;
  int64_t words = 0;
  const T* word_stats = nullptr;  ///< [stats][word]
  int64_t word_stride = 0;        ///< elements from one statistic to the next
  const T* row_stats = nullptr;   ///< [stats]
};

/// The inputs of dL/dS for a panel's rows, one element per row: dL/dS = weight * p - shift, with p
/// = exp(S - lse - lse_rest).
template <class T>
struct HeadLanes {
  using Index = typename FloatTraits<T>::Int;
  /// lse rounded to T, and the rounding error: so large scores stay exact.
  const T *lse = nullptr, *lse_rest = nullptr;
  const T *weight = nullptr, *shift = nullptr;
  /// The rows' targets. These loops set dL/dS of a row's target to 0, because it bypasses the
  /// product.
  const Index* target = nullptr;
};

/// The sums of the gradients, one number per row. The loops add to all of them.
template <class T>
struct HeadSums {
  T* bias = nullptr;        ///< [word][kLanes]: dL/dS; may be null
  T* word_stats = nullptr;  ///< [word][stats][kLanes]
  T* row_stats = nullptr;   ///< [stats][kLanes]
};

/// The arguments of a kernel's struct: a score function, for vectors of `dims` numbers.
struct KernelArgs {
  Score score;
  int64_t dims = 0;
};

/// The loops of one kernel.
template <class T>
struct HeadLoops {
  using Index = typename HeadLanes<T>::Index;
  /// Computes scores [word][kLanes] = S + bias.
  void (*values)(const KernelArgs&, const HeadTile<T>&, T* scores);
  /// Computes scores [word] = S. `scores` may be z for a kernel of one part.
  void (*row_values)(const KernelArgs&, const HeadRow<T>&, T* scores);
  /// Replaces z by dL/dz in a tile whose first word is `word`.
  void (*gradients)(const KernelArgs&, const HeadTile<T>&, const HeadLanes<T>&, Index word,
                    const HeadSums<T>&);
  /// Does the same for a given dL/dS, `up` [word][kLanes].
  void (*slopes)(const KernelArgs&, const HeadTile<T>&, const T* up, const HeadSums<T>&);
  /// Adds up dS/d(number) to sums [number][kLanes] for the learned numbers of the score, in their
  /// order. Call it before the products are overwritten.
  void (*number_gradients)(const KernelArgs&, const HeadTile<T>&, const T* up, T* sums);
  /// Computes out [number] = dS/d(number) of the learned numbers, from whole vectors.
  void (*exact_number_slopes)(const KernelArgs&, const T* w, const T* h, double* out);
  /// Calls the kernel's needs_exact() (kernels/scores/score.h) with the statistics of both vectors;
  /// those of h are kLanes elements apart. null for kernels without it.
  bool (*needs_exact)(T z, const double* w, const T* h);
  /// True if is_extreme() (kernels/scores/score.h) holds for any of the vectors with statistics
  /// [vector][stats]. null for kernels without it.
  bool (*any_extreme)(const KernelArgs&, const double* stats, int64_t vectors);
  /// Compute the statistics s of a vector x of `dims` numbers, and dx += ds * d stats / dx.
  void (*stats)(const KernelArgs&, const T* x, double* s);
  void (*stats_backward)(const KernelArgs&, const T* x, const double* s, const double* ds, T* dx);
  /// Computes S from whole vectors.
  double (*exact)(const KernelArgs&, const T* w, const T* h);
  /// For kernels with kExactTarget: dw += up dS/dw, dh += up dS/dh; either may be null. For other
  /// kernels: returns dS/dz.
  double (*exact_slope)(const KernelArgs&, const T* w, const T* h, double up, T* dw, T* dh);
  /// True if the slopes that exact_slope uses are finite; null except for formulas.
  bool (*finite_slopes)(const KernelArgs&, const T* w, const T* h);
};

/// Finds a kernel's loops for one instruction set (core/isa.h); null for a kind without a
/// kernel.
struct HeadLoopTables {
  const HeadLoops<float>* (*of_float)(ScoreKind) = nullptr;
  const HeadLoops<double>* (*of_double)(ScoreKind) = nullptr;
};

/// Finds the loops over formulas in the same way (kernels/expression/cpu/expression_loops.cpp).
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
