// Differentiable functions of Vars. Each is the op of the same name in core/ops.h with its gradient
// beside it (functions.cpp); shapes and errors are the op's. Throughout, dL/dx is written as dx.
#pragma once

#include "autograd/tape.h"

namespace nine {

// Elementwise, any shape.
Var neg(const Var& x);                  ///< -x; dx = -dy
Var exp(const Var& x);                  ///< e^x; dx = dy y
Var log(const Var& x);                  ///< ln x; dx = dy / x
Var tanh(const Var& x);                 ///< dx = dy (1 - y^2)
Var sigmoid(const Var& x);              ///< 1 / (1 + e^-x); dx = dy y (1 - y)
Var relu(const Var& x);                 ///< max(x, 0); dx = dy where x > 0
Var square(const Var& x);               ///< dx = 2 x dy
Var scale(const Var& x, double alpha);  ///< alpha x

// b has a's shape, or is one row (rank 1) that meets every row of a, or a scalar; db sums over what
// b met.
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);  ///< da = dy b, db = dy a
Var div(const Var& a, const Var& b);  ///< da = dy / b, db = -dy y / b

Var sum(const Var& x);          ///< a scalar of x's type; dx = dy everywhere
Var column_sums(const Var& x);  ///< (..., n) to (n)
Var sum_squares(const Var& x);  ///< sum of x^2, a float64 scalar whatever x's type; dx = 2 x dy
Var cast(const Var& x,
         DType dtype);  ///< the same values in another float type; dx is dy in x's type

/// op(a) op(b), op the transpose where asked; matrices (rank 2).
Var matmul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
/// y = x w' + b as PyTorch's nn.Linear: x (..., in), w (out, in), b (out) or empty.
Var linear(const Var& x, const Var& w, const Var& b = {});

/// max(x w' + b, 0); dx, dw and db see dy where y > 0.
Var linear_relu(const Var& x, const Var& w, const Var& b);
/// A residual branch's end, residual + dropout(x w' + b); dropout as below.
Var linear_bias_dropout_add(const Var& x, const Var& w, const Var& b, const Var& residual, double p,
                            std::string_view stream);

Var row_range(const Var& x, int64_t begin, int64_t count);  ///< rows of a matrix, as a window
Var col_range(const Var& x, int64_t begin, int64_t count);  ///< columns of a matrix, as a window
Var reshape(const Var& x, const Shape& shape);  ///< same elements, contiguous values only
/// Matrices of equal width, one under the other.
Var concat_rows(std::span<const Var> parts);

/// Rows of `table` (V, d) by id; ids int32 of any shape (its shape plus d is the result's).
Var embedding(const Var& table, const Tensor& ids);
/// factor * table(ids) + positions, ids (batch, steps): (batch * steps, d), rows b * steps + t. The
/// first `steps` rows of `positions` (T, d) are added; no gradient flows into them. Error: a
/// sentence longer than T.
Var embedding_with_positions(const Var& table, const Tensor& ids, double factor,
                             const Tensor& positions);
/// Inverted dropout with the step's random key under that stream name; the identity when p = 0 or
/// under NoGrad. With mask_rows = batch the rows (steps * batch, width) share one mask over time:
/// variational dropout.
Var dropout(const Var& x, double p, std::string_view stream, int64_t mask_rows = 0);
/// The same for whole words: x has a row for each of `ids` (int32), and all rows of a word stay or
/// fall together.
Var dropout_words(const Var& x, const Tensor& ids, double p, std::string_view stream);
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps = 1e-5);

/// The four parameters of an LSTM layer, PyTorch's names and layout.
struct LstmWeights {
  Var w_ih, w_hh, b_ih, b_hh;
};
struct LstmState {
  Var h, c;  ///< (batch, hidden) each
};
struct LstmOutput {
  Var y;           ///< (steps * batch, hidden)
  LstmState last;  ///< the state after the last step
};
/// One LSTM layer over x (steps * batch, input), rows in time order.
LstmOutput lstm(const Var& x, const LstmWeights& w, const LstmState& start);

/// How rows of queries and keys make sentences, and who sees whom; see ops::Attention.
struct AttentionShape {
  int64_t batch = 1, heads = 1;
  Tensor lengths = {};  ///< (batch) int32, keys that are no padding; empty: all
  bool causal = false;
};
/// Multi-head self-attention: qkv (batch * steps, 3 d) holds queries, keys and values side by side;
/// (batch * steps, d).
Var attention(const Var& qkv, const AttentionShape& shape);
/// Attention of q (batch * queries, d) to keys and values side by side, kv (batch * keys, 2 d).
Var attention(const Var& q, const Var& kv, const AttentionShape& shape);

Var log_softmax(const Var& x);  ///< over the last dimension
/// -row_weight * sum of log_probs(r, targets[r]) over rows with target >= 0; a float64 scalar.
Var nll(const Var& log_probs, const Tensor& targets, double row_weight);

}  // namespace nine
