// Oracles of the op cases: the same functions in plain loops over doubles, row-major.
#pragma once

#include "checks/op_cases.h"

namespace nine::checks {

using Vars = std::span<const Var>;
using Tensors = std::span<const Tensor>;
using Values = std::span<const Doubles>;
using AllInts = std::span<const Ints>;

inline size_t index_of(int64_t i) { return static_cast<size_t>(i); }

Doubles each(const Doubles& x, double (*f)(double));
/// b repeats where it is shorter than a.
Doubles pairwise(const Doubles& a, const Doubles& b, double (*f)(double, double));
/// op(a) (m, k) times op(b) (k, n).
Doubles product(const Doubles& a, bool transpose_a, const Doubles& b, bool transpose_b, int64_t m,
                int64_t n, int64_t k);
Doubles column_sums(const Doubles& x, int64_t cols);
Doubles log_softmax_of(const Doubles& x, int64_t cols);
/// weight times the sum over rows whose target is a word.
double nll_of(const Doubles& log_probs, const Ints& targets, int64_t cols, double weight);
Doubles layer_norm_of(const Doubles& x, const Doubles& gamma, const Doubles& beta, double eps);
double logistic(double x);
/// x, w_ih, w_hh, b_ih, b_hh, h0, c0 to y, h_n and c_n, one under the other.
Doubles lstm_of(Values in, int64_t steps, int64_t batch, int64_t input, int64_t hidden);
/// q (batch * queries, d) against kv (batch * keys, 2 d); lengths may be empty.
Doubles attention_of(const Doubles& q, const Doubles& k, const Doubles& v, int64_t batch,
                     int64_t heads, int64_t d, const Ints& lengths, bool causal);
/// Columns [first, first + count) of rows of `width`.
Doubles columns(const Doubles& x, int64_t width, int64_t first, int64_t count);

}  // namespace nine::checks
