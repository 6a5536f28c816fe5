// The CPU's loops over formulas (expr). They process a tile strip by strip. A strip is some words
// with a panel's rows; its numbers stay in the L1 cache from one instruction of the formula's
// program to the next.
#include <algorithm>
#include <cmath>

#include "core/isa.h"
#include "kernels/expression/expr_score.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/run.h"
#include "kernels/scores/cpu/head_loops.h"
#include "kernels/scores/cpu/word_gradients.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using expression::kPairVariables;
using expression::kStrip;
using expression::Operand;
using expression::Program;
using expression::Run;
using expression::Variable;
using scores::Expr;

constexpr int64_t kStripWords = kStrip / kLanes;

#define NINE_OWN_LOOP [[gnu::flatten, gnu::noinline]]

// Returns 1 / |x| for a squared norm; 0 where the norm is 0.
template <class T>
T over_norm(T square) {
  return square > T(0) ? T(1) / std::sqrt(square) : T(0);
}
template <class T>
T clamped(T c) {
  return c > T(1) ? T(1) : c < T(-1) ? T(-1) : c;
}

// The variables of a strip's pairs, as arrays, and the registers of a program.
template <class T>
struct Strip {
  alignas(64) T values[kPairVariables][kStrip];
  alignas(64) T registers[Operand::kRegisters * kStrip];
  const T* variables[kPairVariables];

  T* of(Variable v) { return values[static_cast<int>(v)]; }
  Strip() {
    for (int v = 0; v < kPairVariables; ++v) variables[v] = values[v];
  }
};

template <class T>
NINE_OWN_LOOP void distances(const T* z, T ww, const T* hh, T* q) {
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const T x = ww + hh[r] - T(2) * z[r];
    q[r] = x < T(0) ? T(0) : x;  // keeps NaN, as kernels/scores/radial.h does
  }
}
template <class T>
NINE_OWN_LOOP void cosines(const T* z, T ww, const T* hh, T* c) {
  const T of_word = over_norm(ww);
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r)
    c[r] = clamped(z[r] * of_word * (hh[r] > T(0) ? T(1) : T(0)) /
                   std::sqrt(hh[r] > T(0) ? hh[r] : T(1)));
}

// Words [first, first + words) of a tile.
template <class T>
void load(const bool* uses, const HeadTile<T>& t, int64_t first, int64_t words, Strip<T>& s) {
  const auto used = [&](Variable v) { return uses[static_cast<int>(v)]; };
  for (int64_t i = 0; i < words; ++i) {
    const T* z = t.z + (first + i) * t.ld;
    const T ww = static_cast<T>(t.word_stats[first + i]);
    const int64_t at = i * kLanes;
    if (used(Variable::z)) std::copy_n(z, kLanes, s.of(Variable::z) + at);
    if (used(Variable::ww)) std::fill_n(s.of(Variable::ww) + at, kLanes, ww);
    if (used(Variable::hh)) std::copy_n(t.row_stats, kLanes, s.of(Variable::hh) + at);
    if (used(Variable::q)) distances(z, ww, t.row_stats, s.of(Variable::q) + at);
    if (used(Variable::c)) cosines(z, ww, t.row_stats, s.of(Variable::c) + at);
  }
}

template <class T>
T bias_of(const HeadTile<T>& t, int64_t v) {
  return t.bias != nullptr ? t.bias[v] : T(0);
}

// Computes scale S + bias of a strip's words, one after the other.
template <class T>
void strip_scores(const Expr& k, T scale, const HeadTile<T>& t, int64_t first, int64_t words,
                  Strip<T>& s, T* out) {
  const Program& program = k.formula->score();
  load(program.uses, t, first, words, s);
  const Run<T> run(program, k.constants, s.variables, words * kLanes, s.registers);
  const T* scores = run.output(0);
  for (int64_t i = 0; i < words; ++i) {
    const T bias = bias_of(t, first + i);
    for (int64_t r = i * kLanes; r < (i + 1) * kLanes; ++r)
      out[r] = scale * (scores != nullptr ? scores[r] : run.constant_output(0)) + bias;
  }
}

// Adds g * slope to sums [kLanes] for one word; 0 where g is 0, for any slope.
template <class T>
NINE_OWN_LOOP void add_products(const T* g, const T* slope, T* sums) {
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) sums[r] += g[r] == T(0) ? T(0) : g[r] * slope[r];
}
template <class T>
NINE_OWN_LOOP void put_products(const T* g, const T* slope, T* z) {
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) z[r] = g[r] == T(0) ? T(0) : g[r] * slope[r];
}

// Sets z to NaN where g is not 0 and the slope is not finite, for one word.
template <class T>
NINE_OWN_LOOP void mark_not_finite(const T* g, const T* slope, T* z) {
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const T zero = slope[r] * T(0);
    z[r] = g[r] == T(0) || zero == T(0) ? z[r] : zero;
  }
}

// Replaces z by scale * up * dS/dz, and adds the parts through the squared norms to the sums. Sets
// z to NaN where one of those slopes is not finite, so that the reader finds the pair.
template <class T>
void strip_slopes(const Expr& k, T scale, const HeadTile<T>& t, int64_t first, int64_t words,
                  const T* up, Strip<T>& s, const HeadSums<T>& sums) {
  const Program& program = k.formula->slopes();
  load(program.uses, t, first, words, s);
  const Run<T> run(program, k.constants, s.variables, words * kLanes, s.registers);
  T constant[3][kLanes], g[kLanes];  // outputs that are one number; scale * up
  const auto output = [&](size_t which, int64_t i) -> const T* {
    const T* all = run.output(which);
    if (all != nullptr) return all + i * kLanes;
    std::fill_n(constant[which], kLanes, run.constant_output(which));
    return constant[which];
  };
  const auto is_zero = [&](size_t which) {
    return run.output(which) == nullptr && run.constant_output(which) == T(0);
  };
  const bool by_word = !is_zero(1), by_row = !is_zero(2);
  for (int64_t i = 0; i < words; ++i) {
    T* z = t.z + (first + i) * t.ld;
    for (int64_t r = 0; r < kLanes; ++r) g[r] = scale * up[i * kLanes + r];
    put_products(g, output(0, i), z);
    if (by_word) add_products(g, output(1, i), sums.word_stats + (first + i) * kLanes);
    if (by_row) add_products(g, output(2, i), sums.row_stats);
    if (by_word) mark_not_finite(g, output(1, i), z);
    if (by_row) mark_not_finite(g, output(2, i), z);
  }
}

template <class T>
void add_bias_gradients(const HeadSums<T>& sums, int64_t first, int64_t words, const T* up) {
  if (sums.bias == nullptr) return;
  T* to = sums.bias + first * kLanes;
#pragma GCC ivdep
  for (int64_t r = 0; r < words * kLanes; ++r) to[r] += up[r];
}

// Calls f(first word, words) for each strip.
template <class F>
void for_strips(int64_t words, F&& f) {
  for (int64_t first = 0; first < words; first += kStripWords)
    f(first, std::min(kStripWords, words - first));
}

// --- the loops of HeadLoops

template <class T>
void values(const KernelArgs& args, const HeadTile<T>& t, T* out) {
  const Expr k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  Strip<T> s;
  for_strips(t.words, [&](int64_t first, int64_t words) {
    strip_scores(k, scale, t, first, words, s, out + first * kLanes);
  });
}

template <class T>
void gradients(const KernelArgs& args, const HeadTile<T>& t, const HeadLanes<T>& lanes,
               typename HeadLanes<T>::Index word, const HeadSums<T>& sums) {
  using Index = typename HeadLanes<T>::Index;
  const Expr k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  Strip<T> s;
  alignas(64) T own[kStrip], up[kStrip];
  for_strips(t.words, [&](int64_t first, int64_t words) {
    if (t.scores == nullptr) strip_scores(k, scale, t, first, words, s, own);
    for (int64_t i = 0; i < words; ++i) {
      const T* scores =
          t.scores != nullptr ? t.scores + (first + i) * t.scores_ld : own + i * kLanes;
      word_gradients(scores, lanes, static_cast<Index>(word + first + i), up + i * kLanes);
    }
    add_bias_gradients(sums, first, words, up);
    strip_slopes(k, scale, t, first, words, up, s, sums);
  });
}

template <class T>
void slopes(const KernelArgs& args, const HeadTile<T>& t, const T* up, const HeadSums<T>& sums) {
  const Expr k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  Strip<T> s;
  for_strips(t.words, [&](int64_t first, int64_t words) {
    add_bias_gradients(sums, first, words, up + first * kLanes);
    strip_slopes(k, scale, t, first, words, up + first * kLanes, s, sums);
  });
}

// The slope of a learned parameter comes from the formula's program, that of the scale is the
// score.
template <class T>
void number_gradients(const KernelArgs& args, const HeadTile<T>& t, const T* up, T* sums) {
  const Expr k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  const Program& program = k.formula->parameter_slopes();
  const size_t parameters = program.outputs.size();
  Strip<T> s;
  alignas(64) T slope[kStrip];
  for_strips(t.words, [&](int64_t first, int64_t words) {
    const T* g = up + first * kLanes;
    if (parameters > 0) {
      load(program.uses, t, first, words, s);
      const Run<T> run(program, k.constants, s.variables, words * kLanes, s.registers);
      for (size_t p = 0; p < parameters; ++p) {
        for (int64_t r = 0; r < words * kLanes; ++r) slope[r] = scale * run.output_at(p, r);
        for (int64_t i = 0; i < words; ++i)
          add_products(g + i * kLanes, slope + i * kLanes, sums + static_cast<int64_t>(p) * kLanes);
      }
    }
    if (!args.score.learns(kScaleNumber)) return;
    HeadTile<T> plain = t;
    plain.bias = nullptr;
    strip_scores(k, T(1), plain, first, words, s, slope);
    for (int64_t i = 0; i < words; ++i)
      add_products(g + i * kLanes, slope + i * kLanes,
                   sums + static_cast<int64_t>(parameters) * kLanes);
  });
}

// One row with some words, word after word.
template <class T>
NINE_OWN_LOOP void load_row(const bool* uses, const HeadRow<T>& row, int64_t first, int64_t words,
                            Strip<T>& s) {
  const T *z = row.z + first, *ww = row.word_stats + first, hh = row.row_stats[0],
          of_row = over_norm(hh);
  const auto used = [&](Variable v) { return uses[static_cast<int>(v)]; };
  if (used(Variable::z)) std::copy_n(z, words, s.of(Variable::z));
  if (used(Variable::ww)) std::copy_n(ww, words, s.of(Variable::ww));
  if (used(Variable::hh)) std::fill_n(s.of(Variable::hh), words, hh);
  if (used(Variable::q)) {
    T* q = s.of(Variable::q);
#pragma GCC ivdep
    for (int64_t v = 0; v < words; ++v) {
      const T x = ww[v] + hh - T(2) * z[v];
      q[v] = x < T(0) ? T(0) : x;
    }
  }
  if (used(Variable::c)) {
    T* c = s.of(Variable::c);
#pragma GCC ivdep
    for (int64_t v = 0; v < words; ++v) c[v] = clamped(z[v] * over_norm(ww[v]) * of_row);
  }
}

template <class T>
void row_values(const KernelArgs& args, const HeadRow<T>& row, T* out) {
  const Expr k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  const Program& program = k.formula->score();
  Strip<T> s;
  for (int64_t first = 0; first < row.words; first += kStrip) {
    const int64_t words = std::min(kStrip, row.words - first);
    load_row(program.uses, row, first, words, s);
    const Run<T> run(program, k.constants, s.variables, words, s.registers);
    for (int64_t v = 0; v < words; ++v) out[first + v] = scale * run.output_at(0, v);
  }
}

template <class T>
bool any_extreme(const KernelArgs&, const double* stats, int64_t vectors) {
  return std::any_of(stats, stats + vectors,
                     [](double square) { return Expr::is_extreme<T>(&square); });
}

template <class T>
void stats(const KernelArgs& args, const T* x, double* s) {
  scores::SquaredNorm().stats(x, args.dims, s);
}

template <class T>
void stats_backward(const KernelArgs& args, const T* x, const double* s, const double* ds, T* dx) {
  scores::SquaredNorm().stats_backward(x, args.dims, s, ds, dx);
}

template <class T>
double exact(const KernelArgs& args, const T* w, const T* h) {
  T* const none = nullptr;
  return args.score.scale * Expr(args.score, args.dims).exact(w, h, args.dims, 0, none, none);
}

template <class T>
double exact_slope(const KernelArgs& args, const T* w, const T* h, double up, T* dw, T* dh) {
  return Expr(args.score, args.dims).exact(w, h, args.dims, args.score.scale * up, dw, dh);
}

template <class T>
bool finite_slopes(const KernelArgs& args, const T* w, const T* h) {
  return Expr(args.score, args.dims).finite_slopes(w, h, args.dims);
}

template <class T>
void exact_number_slopes(const KernelArgs& args, const T* w, const T* h, double* out) {
  const Expr k(args.score, args.dims);
  T* const none = nullptr;
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (args.score.learns(i))
      *out++ = i == kScaleNumber ? k.exact(w, h, args.dims, 0, none, none)
                                 : args.score.scale * k.exact_parameter_slope(i, w, h, args.dims);
}

template <class T>
constexpr HeadLoops<T> kLoops{.values = values<T>,
                              .row_values = row_values<T>,
                              .gradients = gradients<T>,
                              .slopes = slopes<T>,
                              .number_gradients = number_gradients<T>,
                              .exact_number_slopes = exact_number_slopes<T>,
                              .needs_exact = nullptr,
                              .any_extreme = any_extreme<T>,
                              .stats = stats<T>,
                              .stats_backward = stats_backward<T>,
                              .exact = exact<T>,
                              .exact_slope = exact_slope<T>,
                              .finite_slopes = finite_slopes<T>};

#undef NINE_OWN_LOOP

}  // namespace

void install(ExpressionLoopTables& tables) { tables = {&kLoops<float>, &kLoops<double>}; }

}  // namespace NINE_ISA
}  // namespace nine::cpu
