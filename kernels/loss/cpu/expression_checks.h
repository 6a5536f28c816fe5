// Checks that scores and slopes of formulas are finite. The Error names the word, the row and the
// subexpression.
#pragma once

#include "kernels/expression/expr_score.h"
#include "kernels/loss/cpu/stacked_components.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// True if n numbers are finite. The compiler can vectorise this loop.
template <class T>
bool all_finite(const T* x, int64_t n) {
  T sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += x[k] * T(0);
  return sum == T(0);
}

template <class T>
bool is_expr(const HeadKernel<T>& kernel) {
  return kernel.args.score.kind == ScoreKind::expr;
}

/// Throws the Error for the pair of word `word` and row `row` of a component that is a formula.
template <class T>
void refuse_pair(const StackedComponents<T>& stack, int64_t component, int64_t word, int64_t row,
                 bool slope) {
  const StackedComponent<T>& c = stack[component];
  const View& bias = stack.block().bias;
  if (bias && !all_finite(static_cast<const T*>(bias.data) + word, 1)) return;
  scores::Expr(c.kernel.args.score, c.kernel.args.dims)
      .refuse(row_ptr<T>(c.w, word), stack.context(component, row), c.kernel.args.dims,
              concat("word ", word, " and row ", stack.block().first_row + row), slope);
}

/// Throws the Error for the first score, or slope, of a tile that is not finite. The tile is
/// [word][row], with `ld` numbers from word to word. Does nothing for kernels other than expr, or
/// if the vectors themselves are not finite.
template <class T>
void refuse_not_finite(const StackedComponents<T>& stack, const TilePlace<T>& at, const T* tile,
                       int64_t ld, bool slope) {
  if (!is_expr(at.component.kernel)) return;
  const int64_t rows = stack.rows_of(at.panel);
  for (int64_t v = 0; v < at.words; ++v) {
    const T* x = tile + v * ld;
    if (all_finite(x, rows)) continue;
    for (int64_t r = 0; r < rows; ++r)
      if (!all_finite(x + r, 1))
        refuse_pair(stack, at.index, at.word + v, at.panel * kHeadPanel + r, slope);
  }
}

/// Returns one word of a tile of vectors with `stats` statistics.
template <class T>
HeadTile<T> word_of(HeadTile<T> tile, int64_t v, int64_t stats) {
  tile.z += v * tile.ld;
  tile.words = 1;
  if (tile.scores != nullptr) tile.scores += v * tile.scores_ld;
  tile.word_stats += v * stats;
  if (tile.bias != nullptr) tile.bias += v;
  return tile;
}

/// Throws the Error for the first pair of a tile whose slope with respect to a learned number is
/// not finite. `up` [word][kHeadPanel] is the tile's dL/dS. `sums` [number][kHeadPanel] are the
/// sums of HeadLoops::number_gradients over the tile; if these are finite, the pairs are not
/// checked.
template <class T>
void refuse_number_slopes(const StackedComponents<T>& stack, const TilePlace<T>& at,
                          const HeadTile<T>& tile, const T* up, const T* sums) {
  const HeadKernel<T>& kernel = at.component.kernel;
  const int64_t numbers = kernel.args.score.learned_count();
  if (!is_expr(kernel) || all_finite(sums, numbers * kHeadPanel)) return;
  for (int64_t v = 0; v < at.words; ++v) {
    T own[kMaxScoreNumbers * kHeadPanel] = {};
    kernel.loops->number_gradients(kernel.args, word_of(tile, v, kernel.stats), up + v * kHeadPanel,
                                   own);
    for (int64_t i = 0; i < numbers * kHeadPanel; ++i)
      if (!all_finite(own + i, 1))
        refuse_pair(stack, at.index, at.word + v, at.panel * kHeadPanel + i % kHeadPanel, true);
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
