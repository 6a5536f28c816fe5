// The pairs of a word and a row whose score and slopes are computed from their vectors. For most
// pairs, score and slopes come from the product of the vectors, tile by tile. This file decides
// which pairs need their vectors, and computes their scores and slopes. The loops over a block call
// it.
//
//   target   the target of every row: rounding in a product must not make a probability larger than
//            1, and |w - h|^2 must not be a difference of large numbers. If the score is a function
//            of z alone, the slope still goes through the product, except for scores by angle.
//   extreme  all pairs of a tile with a vector whose products overflow
//   close    in float64 only, because results in float64 are compared with formulas to nine digits
//            and more: q = |w|^2 + |h|^2 - 2z has too few digits if the distance is small compared
//            with the norms
#pragma once

#include <vector>

#include "kernels/loss/cpu/expression_checks.h"
#include "kernels/loss/cpu/stacked_components.h"
#include "kernels/options/angle.h"
#include "kernels/scores/vectors.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// A target's score with and without the margin. Both are without bias.
struct TargetScore {
  double value, plain;
};

/// The places to which a pair's slopes are added; null: not added.
template <class T>
struct PairSlopes {
  T *dw, *dh;      ///< added to
  double* dstats;  ///< of the word; for pairs by angle, d/dF is added to the second statistic
  double* dg;      ///< slope with respect to the norm G; for pairs by angle only; overwritten
};

template <class T>
class VectorPairs {
 public:
  explicit VectorPairs(const StackedComponents<T>& stack) : stack_(stack), block_(stack.block()) {}

  /// True if the slopes of component k's targets come from the vectors. Otherwise only their scores
  /// do.
  bool target_slopes(int64_t k) const { return stack_[k].kernel.exact || block_.by_angle(); }
  /// True if a component may have extreme or close pairs.
  static bool others(const StackedComponent<T>& c) {
    return c.kernel.exact && (std::is_same_v<T, double> || c.any_extreme);
  }
  /// Calls f(word within the tile, row within the panel) for the pairs of a tile that need their
  /// vectors; the tile's products must be computed. These are all pairs of a tile with an extreme
  /// vector, otherwise the close pairs.
  template <class F>
  void for_others(const TilePlace<T>& at, const HeadTile<T>& tile, F&& f) const {
    const StackedComponent<T>& c = at.component;
    if (!others(c)) return;
    if (c.any_extreme && (stack_.any_extreme_row(c, at.panel) ||
                          c.kernel.loops->any_extreme(c.kernel.args, tile.word_stats, at.words))) {
      for (int64_t v = 0; v < at.words; ++v)
        for (int64_t r = 0; r < stack_.rows_of(at.panel); ++r) f(v, r);
    } else if (std::is_same_v<T, double>) {
      for_close(at, tile, f);
    }
  }

  /// Returns the score of row r's target in component k.
  TargetScore target_score(int64_t k, int64_t r) const {
    const int64_t y = stack_.target(r);
    if (block_.by_angle()) {
      const scores::AnglePair<T> pair = angle(k, y, r);
      const scores::AngleScore psi =
          scores::margin_at(block_.options.margin, pair.cosine, pair.sine);
      return {pair.score(psi), pair.score({pair.cosine, 1})};
    }
    const double s = score(k, y, r);
    return {s, s};
  }
  /// Returns the score of word v and row r in component k, which must not be by angle.
  double score(int64_t k, int64_t v, int64_t r) const {
    const HeadKernel<T>& kernel = stack_[k].kernel;
    return kernel.loops->exact(kernel.args, word(k, v), stack_.context(k, r));
  }
  /// Returns dS/dz of row r's target. Only if target_slopes(k) is false.
  double target_dz(int64_t k, int64_t r, double up) const {
    const HeadKernel<T>& kernel = stack_[k].kernel;
    return kernel.loops->exact_slope(kernel.args, word(k, stack_.target(r)), stack_.context(k, r),
                                     up, nullptr, nullptr);
  }
  /// Adds `up` times the slopes of a pair.
  void add_slopes(int64_t k, int64_t v, int64_t r, double up, const PairSlopes<T>& to) const {
    if (block_.by_angle()) {
      const scores::AnglePair<T> pair = angle(k, v, r);
      const scores::AngleScore psi =
          scores::margin_at(block_.options.margin, pair.cosine, pair.sine);
      pair.add_gradients(psi, up, to.dw, to.dh);
      if (to.dstats != nullptr) to.dstats[1] += up * pair.by_word_scale(psi);
      if (to.dg != nullptr) *to.dg = up * pair.by_context_scale(psi);
      return;
    }
    const HeadKernel<T>& kernel = stack_[k].kernel;
    const T *w = word(k, v), *h = stack_.context(k, r);
    if (kernel.loops->finite_slopes != nullptr && up != 0 &&
        !kernel.loops->finite_slopes(kernel.args, w, h))
      refuse_pair(stack_, k, v, r, true);
    kernel.loops->exact_slope(kernel.args, w, h, up, to.dw, to.dh);
  }
  /// Adds `up` times the slopes with respect to the component's learned numbers to out [number].
  void add_number_slopes(int64_t k, int64_t v, int64_t r, double up, double* out) const {
    const HeadKernel<T>& kernel = stack_[k].kernel;
    const int learned = kernel.args.score.learned_count();
    if (learned == 0 || up == 0) return;
    double slopes[kMaxScoreNumbers];
    kernel.loops->exact_number_slopes(kernel.args, word(k, v), stack_.context(k, r), slopes);
    if (is_expr(kernel) && !all_finite(slopes, learned)) refuse_pair(stack_, k, v, r, true);
    for (int i = 0; i < learned; ++i) out[i] += up * slopes[i];
  }

 private:
  const T* word(int64_t k, int64_t v) const { return row_ptr<T>(stack_[k].w, v); }
  scores::AnglePair<T> angle(int64_t k, int64_t v, int64_t r) const {
    return {word(k, v), stack_.context(k, r), block_.dims(), block_.given_norms(k, v)};
  }
  template <class F>
  void for_close(const TilePlace<T>& at, const HeadTile<T>& tile, F&& f) const {
    constexpr T kClose = T(1e-3);  // below this share, q loses three digits
    const HeadKernel<T>& kernel = at.component.kernel;
    const int64_t first = at.panel * kHeadPanel, rows = stack_.rows_of(at.panel),
                  parts = kernel.parts;
    const auto z = [&](int64_t pair, int64_t v, int64_t r) {
      return tile.z[pair * tile.plane + v * tile.ld + r];
    };
    if (kernel.loops->needs_exact != nullptr) {
      for (int64_t v = 0; v < at.words; ++v)
        for (int64_t r = 0; r < rows; ++r)
          if (kernel.loops->needs_exact(z(0, v, r), tile.word_stats + v * kernel.stats,
                                        tile.row_stats + r))
            f(v, r);
      return;
    }
    const auto norms_of = [&](const T* x, T* norms) {
      for (int64_t i = 0; i < parts; ++i)
        norms[i] =
            static_cast<T>(scores::square_norm(x + i * kernel.part_size, kernel.product_dims));
    };
    std::vector<T> of_word(static_cast<size_t>(parts)), of_rows(static_cast<size_t>(parts * rows));
    for (int64_t r = 0; r < rows; ++r)
      norms_of(stack_.context(at.index, first + r), of_rows.data() + r * parts);
    for (int64_t v = 0; v < at.words; ++v) {
      norms_of(row_ptr<T>(at.component.w, at.word + v), of_word.data());
      // Pair i * parts + j is part i of the word and part j of the row.
      const auto is_close = [&](int64_t pair, int64_t r) {
        const T both = of_word[static_cast<size_t>(pair / parts)] +
                       of_rows[static_cast<size_t>(r * parts + pair % parts)];
        return both - 2 * z(pair, v, r) < kClose * both;
      };
      for (int64_t r = 0; r < rows; ++r) {
        bool any = false;
        for (int64_t pair = 0; pair < parts * parts && !any; ++pair) any = is_close(pair, r);
        if (any) f(v, r);
      }
    }
  }

  const StackedComponents<T>& stack_;
  const HeadBlock& block_;
};

}  // namespace NINE_ISA
}  // namespace nine::cpu
