// Differentiable functions of Vars. Most functions are the op of the same name in core/ops.h with
// its gradient; shapes and errors are those of the op. functions.cpp has the value and the gradient
// side by side. In comments dx stands for the gradient dL/dx, and y for the result.
//
//   Var h = tanh(x * w + b);       // mul and add, each broadcasting the smaller argument
//   Var p = 1 / (1 + exp(-h));     // what sigmoid(h) computes
#pragma once

#include "autograd/tape.h"

namespace nine {

// Elementwise, any shape.
Var neg(const Var& x);      ///< -x; dx = -dy
Var exp(const Var& x);      ///< e^x; dx = dy y
Var log(const Var& x);      ///< ln x; dx = dy / x
Var tanh(const Var& x);     ///< dx = dy (1 - y^2)
Var sigmoid(const Var& x);  ///< 1 / (1 + e^-x); dx = dy y (1 - y)
Var relu(const Var& x);     ///< max(x, 0); dx = dy where x > 0
Var square(const Var& x);   ///< dx = 2 x dy
Var sqrt(const Var& x);     ///< dx = dy / (2 y): infinite at 0
Var abs(const Var& x);      ///< |x|; dx = dy sign(x), 0 at 0
/// x Phi(x), where Phi is the distribution function of N(0, 1) (Hendrycks & Gimpel, 2016; PyTorch's
/// gelu). dx = dy (Phi(x) + x phi(x)), phi(x) = e^(-x^2/2) / sqrt(2 pi). At -infinity the value is
/// the limit -0 (NaN in PyTorch).
Var gelu(const Var& x);
/// x s with s = (1 + tanh(z)) / 2, z = sqrt(2/pi) (x + 0.044715 x^3): GPT-2's gelu, PyTorch's
/// approximate='tanh'. dx = dy (s + 2 x s (1 - s) dz/dx). At -infinity the value is -0.
Var gelu_tanh(const Var& x);
/// x s with s = sigmoid(x) (Elfwing et al., 2018; PyTorch's silu). dx = dy (s + x s (1 - s)). At
/// -infinity the value is -0.
Var silu(const Var& x);
Var scale(const Var& x, double alpha);  ///< alpha x; dx = alpha dy

// Gated linear units (Shazeer, 2020) of a and b, which have one shape: f(a) b, by elements; da = dy
// b f'(a), db = dy f(a).
Var silu_gated(const Var& a, const Var& b);  ///< f = silu: SwiGLU
Var gelu_gated(const Var& a, const Var& b);  ///< f = gelu: GEGLU

// a and b have one shape, or the smaller is broadcast to the shape of the larger: one row (rank 1,
// of the larger's width) over the rows, or a scalar (rank 0) over all elements. The result has the
// larger shape. The gradient of the smaller argument is summed over the elements that it was
// broadcast to. Error: neither shape can be broadcast to the other.
Var add(const Var& a, const Var& b);  ///< a + b; da = dy, db = dy
Var sub(const Var& a, const Var& b);  ///< a - b; da = dy, db = -dy
Var mul(const Var& a, const Var& b);  ///< a b, by elements; da = dy b, db = dy a
Var div(const Var& a, const Var& b);  ///< a / b; da = dy / b, db = -dy y / b
/// Returns x broadcast to `shape` by the rule above; dx = dy, summed over the elements of the
/// broadcast. Error: x cannot be broadcast to `shape`.
Var broadcast_to(const Var& x, const Shape& shape);

// The functions above as operators. A number stands for a tensor of this value in the other
// argument's shape and type.
Var operator+(const Var& a, const Var& b);
Var operator+(const Var& a, double b);
Var operator+(double a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator-(const Var& a, double b);
Var operator-(double a, const Var& b);
Var operator*(const Var& a, const Var& b);  ///< by elements, as in PyTorch; products: matmul()
Var operator*(const Var& a, double b);
Var operator*(double a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var operator/(const Var& a, double b);
Var operator/(double a, const Var& b);
Var operator-(const Var& x);  ///< neg(x)

Var sum(const Var& x);   ///< of all elements: a scalar of x's type; dx = dy everywhere
Var mean(const Var& x);  ///< of all n elements: a scalar of x's type; dx = dy / n everywhere
/// (..., n) to (n): sums all dimensions but the last; dx = dy in every row.
Var column_sums(const Var& x);
Var sum_squares(const Var& x);  ///< of x in float32 or float64, as a float64 scalar; dx = 2 x dy
/// Converts x to another float type (float32, float64, bfloat16); dx is dy in x's type.
Var cast(const Var& x, DType dtype);

/// Computes op(a) op(b) for matrices (rank 2), where op(x) is x, or x' if its flag is set.
Var matmul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
/// Computes y = x w' + b as in PyTorch's nn.Linear: x (..., in), w (out, in), b (out) or an empty
/// Var, y (..., out).
Var linear(const Var& x, const Var& w, const Var& b = {});

/// Computes max(x w' + b, 0); shapes as in linear(). Only elements with y > 0 have a gradient.
/// Error: b is empty.
Var linear_relu(const Var& x, const Var& w, const Var& b);
/// Computes residual + dropout(x w' + b), the end of a residual branch. Shapes as in linear();
/// residual has y's shape; p and stream as in dropout().
Var linear_bias_dropout_add(const Var& x, const Var& w, const Var& b, const Var& residual, double p,
                            std::string_view stream);

// Views of a value, which share its memory.
Var row_range(const Var& x, int64_t begin, int64_t count);  ///< rows [begin, begin + count)
Var col_range(const Var& x, int64_t begin, int64_t count);  ///< columns [begin, begin + count)
Var reshape(const Var& x, const Shape& shape);  ///< the same elements; x must be contiguous
/// Copies the rows of x (first * second, d): row i * second + j becomes row j * first + i. Rows in
/// time order become rows sentence by sentence, and the reverse. Error: first does not divide the
/// rows.
Var transpose_rows(const Var& x, int64_t first);
/// Copies matrices (n_i, d) of equal width, one below the other: (sum of n_i, d).
Var concat_rows(std::span<const Var> parts);

/// Looks up y[i, :] = table[ids[i], :]: table (V, d), ids int32 (...), y (..., d). A table (V)
/// counts as (V, 1), so y is (..., 1). A table of rank 3 or 4 counts as the matrix of its rows.
/// Error: an id outside of [0, V).
Var embedding(const Var& table, const Tensor& ids);
/// Computes factor * table[ids] + positions, the input of a Transformer: table (V, d), ids int32
/// (batch, steps), y (batch * steps, d), row b * steps + t. The first `steps` rows of positions (T,
/// d) are used. Only the table has a gradient. Error: steps > T.
Var embedding_with_positions(const Var& table, const Tensor& ids, double factor,
                             const Tensor& positions);
/// Applies inverted dropout: an element becomes 0 with probability p, and x / (1 - p) otherwise.
/// The random numbers depend on the step's random key and on `stream`, a name for this use of
/// dropout. Returns x if p = 0 or under NoGrad. mask_rows = 0: each row has a mask of its own.
/// Otherwise row r has mask r mod mask_rows: with mask_rows = batch, all time steps of x (steps *
/// batch, width) share one mask (variational dropout).
Var dropout(const Var& x, double p, std::string_view stream, int64_t mask_rows = 0);
/// Applies dropout to whole words: x (n, d) has a row for each of the n `ids` (int32), and all rows
/// of one id are kept or dropped together. p and stream as in dropout().
Var dropout_words(const Var& x, const Tensor& ids, double p, std::string_view stream);
/// Computes (x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension: x (..., d),
/// gamma and beta (d).
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps = 1e-5);

/// Computes x / sqrt(mean of x^2 + eps) * gamma: x (..., k d), gamma (d). Each of the k parts of a
/// row is normalised on its own.
Var rms_norm(const Var& x, const Var& gamma, double eps = 1e-5);
/// Columns of a matrix, and the gamma of their RMS norm.
struct NormedColumns {
  Var gamma = {};
  int64_t count = 0;  ///< a multiple of gamma's elements; 0: no columns
};
/// Computes rms_norm() of the first columns of x (rows, n) and of the columns behind them, and
/// copies the other columns. y has x's shape. Error: x has fewer columns.
Var rms_norm_columns(const Var& x, const NormedColumns& first, const NormedColumns& second = {},
                     double eps = 1e-5);
/// Rotates the first `columns` columns of x (sequences * steps, n) by the angles of rows'
/// positions, and copies the other columns; see ops::rotary. angles: (steps, size), on x's device.
Var rotary(const Var& x, const Tensor& angles, int64_t columns);

/// The parameters of an LSTM layer with PyTorch's names and layout: w_ih (4H, I), w_hh (4H, H),
/// b_ih and b_hh (4H) for input size I and hidden size H, gates in the order i f g o.
struct LstmWeights {
  Var w_ih, w_hh, b_ih, b_hh;
};
/// The state of an LSTM layer between time steps.
struct LstmState {
  Var h, c;  ///< (batch, hidden) each
};
/// The result of lstm().
struct LstmOutput {
  Var y;           ///< (steps * batch, hidden)
  LstmState last;  ///< the state after the last step
};
/// Runs one LSTM layer over x (steps * batch, I), row t * batch + b, from the state `start`.
/// Formula: ops::Lstm.
LstmOutput lstm(const Var& x, const LstmWeights& w, const LstmState& start);

/// The sizes and the mask of multi-head attention; see ops::Attention.
struct AttentionShape {
  int64_t batch = 1, heads = 1;
  int64_t kv_heads = 0;          ///< heads of keys and values, a divisor of `heads`; 0: `heads`
  Tensor lengths = {};           ///< (batch) int32: numbers of keys before the padding; empty: none
  bool causal = false;           ///< query t attends to keys 0 ... t only
  double dropout = 0;            ///< rate on the softmax's probabilities; 0 under NoGrad
  std::string_view stream = {};  ///< name of this dropout, as in dropout()
};
/// Computes multi-head self-attention: qkv (batch * steps, (heads + 2 kv_heads) * size) holds
/// queries, keys and values side by side; y is (batch * steps, heads * size).
Var attention(const Var& qkv, const AttentionShape& shape);
/// Computes multi-head attention of q (batch * queries, heads * size) to kv (batch * keys, 2
/// kv_heads
/// * size), which holds keys and values side by side; y has q's shape.
Var attention(const Var& q, const Var& kv, const AttentionShape& shape);
/// The keys that each query attends to in decoding, as rows of a matrix of keys; see
/// ops::ListedAttention. On the tape's device.
struct KeyLists {
  Tensor rows = {}, first = {}, counts = {};

  explicit operator bool() const { return static_cast<bool>(counts); }
};
/// Computes multi-head attention of q (queries, heads * size) to the listed rows of kv (keys, 2
/// kv_heads * size), where kv_heads divides heads; y has q's shape. Writes the weights, as the mean
/// over heads, to `weights` (queries, at least the longest list) of q's type, if not empty. Has no
/// gradient. Error: the tape is recording.
Var attention(const Var& q, const Var& kv, const KeyLists& lists, int64_t heads,
              const Tensor& weights = {});

// Softmax over the last dimension.
Var softmax(const Var& x);      ///< e^x / sum(e^x); dx = y (dy - sum(dy y))
Var log_softmax(const Var& x);  ///< x - log(sum(e^x)); dx = dy - e^y sum(dy)
/// Computes the weighted negative log-likelihood of log_probs (n, V): -row_weight * sum of
/// log_probs[r, targets[r]] over the rows with targets[r] >= 0; a float64 scalar. targets (n)
/// int32.
Var nll(const Var& log_probs, const Tensor& targets, double row_weight);
/// Returns the number of targets (int32, any shape, any device) that are 0 or more. On the CPU it
/// allocates no memory.
int64_t count_targets(const Tensor& targets);
/// Computes the mean of -log_softmax(logits)[r, targets[r]] over the rows r with targets[r] >= 0, a
/// float64 scalar: PyTorch's cross_entropy with ignore_index -1. logits (n, V); targets (n) int32,
/// on the CPU or the tape's device. dlogits = dy (softmax(logits) - one-hot targets) / (number of
/// these rows), and 0 in other rows. Error: no target is >= 0 (PyTorch gives NaN).
Var cross_entropy(const Var& logits, const Tensor& targets);
/// Computes the mean of (x - target)^2 over all n elements, a scalar of x's type; dx = 2 dy (x -
/// target) / n, dtarget = -dx. Error: the shapes differ.
Var mse_loss(const Var& x, const Var& target);

}  // namespace nine
