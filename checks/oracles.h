// The functions of the op cases in plain loops over doubles, as oracles. Matrices are row-major.
#pragma once

#include <span>

#include "autograd/tape.h"
#include "checks/values.h"

namespace nine::checks {

// The arguments of OpCase::run and OpCase::oracle.
using Vars = std::span<const Var>;
using Tensors = std::span<const Tensor>;
using Values = std::span<const Doubles>;
using AllInts = std::span<const Ints>;

/// Returns y[i] = f(x[i]).
Doubles each(const Doubles& x, double (*f)(double));
/// Returns y[i] = f(a[i], b[i]). The argument with fewer elements (a row or a number) is broadcast.
Doubles pairwise(const Doubles& a, const Doubles& b, double (*f)(double, double));
/// Returns op(a) (m, k) times op(b) (k, n): (m, n), where op(x) is x, or its transpose if its flag
/// is set.
Doubles product(const Doubles& a, bool transpose_a, const Doubles& b, bool transpose_b, int64_t m,
                int64_t n, int64_t k);
/// Returns the sums over rows of x (..., cols): (cols).
Doubles column_sums(const Doubles& x, int64_t cols);
/// Returns x - log sum exp(x) for each row of x (..., cols).
Doubles log_softmax_of(const Doubles& x, int64_t cols);
/// Returns -weight * sum of log_probs[r, targets[r]] over the rows with targets[r] >= 0.
double nll_of(const Doubles& log_probs, const Ints& targets, int64_t cols, double weight);
/// Returns the layer norm of the rows of x (..., size of gamma).
Doubles layer_norm_of(const Doubles& x, const Doubles& gamma, const Doubles& beta, double eps);
/// Returns the RMS norm of the parts of x that are as long as gamma.
Doubles rms_norm_of(const Doubles& x, const Doubles& gamma, double eps);
/// Returns 1 / (1 + e^-x).
double logistic(double x);
/// Computes an LSTM layer: `in` is x, w_ih, w_hh, b_ih, b_hh, h0, c0. Returns y (steps * batch,
/// hidden), h_n and c_n (batch, hidden), one below the other.
Doubles lstm_of(Values in, int64_t steps, int64_t batch, int64_t input, int64_t hidden);
/// Computes multi-head attention of q (batch * queries, d) to k and v (batch * keys, d). lengths:
/// the keys of each batch element before the padding; empty: no padding. Dropout takes the random
/// numbers of the stream "dropout.test".
Doubles attention_of(const Doubles& q, const Doubles& k, const Doubles& v, int64_t batch,
                     int64_t heads, int64_t d, const Ints& lengths, bool causal,
                     double dropout = 0);
/// Returns columns [first, first + count) of x (..., width).
Doubles columns(const Doubles& x, int64_t width, int64_t first, int64_t count);

}  // namespace nine::checks
