// Differentiable functions of Vars. Most functions are the op of the same name in core/ops.h with
// its gradient; shapes, types and errors are those of the op. All Vars of a call are on one tape.
// Tensors of lengths are int32; ids and targets are int32 or int64. They are on the tape's device,
// unless a comment says otherwise. functions.cpp has the value and the gradient side by side. In
// comments y is the result and L is the loss that backward() starts from; dx stands for dL/dx, dy
// for dL/dy, and x' for the transpose of x.
//
// Reductions over chosen dimensions, joining, cutting, picking and sorting: autograd/arrays.h.
//
//   Var h = tanh(x * w + b);       // mul and add, each broadcasting the smaller argument
//   Var p = 1 / (1 + exp(-h));     // what sigmoid(h) computes
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "autograd/tape.h"
#include "core/elementwise_list.h"

namespace nine {

/// A number beside a tensor, in whose type it is used. An integer stays exact: equal(ids,
/// 9007199254740993) compares with this int64. Errors, for a tensor of integers or bool: the number
/// has a fraction, or is not in the range of the type.
class Number {
 public:
  template <std::integral T>
  Number(T value)  // NOLINT: x + 1
      : value_(static_cast<double>(value)),
        whole_(static_cast<int64_t>(value)),
        is_whole_(sizeof(T) < 8 || std::signed_integral<T> ||
                  static_cast<uint64_t>(value) <= static_cast<uint64_t>(INT64_MAX)) {}
  template <std::floating_point T>
  Number(T value)  // NOLINT: x + 0.5
      : value_(static_cast<double>(value)),
        whole_(value_ >= -kEnd && value_ < kEnd ? static_cast<int64_t>(value_) : 0),
        is_whole_(value_ >= -kEnd && value_ < kEnd && static_cast<double>(whole_) == value_) {}
  double value() const { return value_; }
  bool is_whole() const { return is_whole_; }  ///< an int64
  int64_t whole() const { return whole_; }     ///< if is_whole()

 private:
  static constexpr double kEnd = 9223372036854775808.0;  // 2^63
  double value_;
  int64_t whole_;
  bool is_whole_;
};

// Functions of one number, by elements, for any shape: the lines of NINE_FOR_EACH_UNARY, which say
// what each function computes. Var sin(const Var& x), ...; some have parameters: Var pow(const Var&
// x, double exponent), Var leaky_relu(const Var& x, double slope = 0.01), Var elu(const Var& x,
// double alpha = 1), Var clamp(const Var& x, double low, double high). neg, abs, sign, square, relu
// and clamp also take int32 and int64.
#define NINE_DECLARE(NAME, ...) Var NAME(const Var& x);
#define NINE_DECLARE_1(NAME, P, P_DEFAULT, ...) Var NAME(const Var& x, double P P_DEFAULT);
#define NINE_DECLARE_2(NAME, P, P_DEFAULT, Q, Q_DEFAULT, ...) \
  Var NAME(const Var& x, double P P_DEFAULT, double Q Q_DEFAULT);
NINE_FOR_EACH_UNARY(NINE_DECLARE, NINE_DECLARE_1, NINE_DECLARE_2)
#undef NINE_DECLARE
#undef NINE_DECLARE_1
#undef NINE_DECLARE_2
Var scale(const Var& x, double alpha);  ///< alpha x; dx = alpha dy

// Gated linear units (Shazeer, 2020) of a and b, which have one shape: f(a) b, by elements; da = dy
// b f'(a), db = dy f(a).
Var silu_gated(const Var& a, const Var& b);  ///< f = silu: SwiGLU
Var gelu_gated(const Var& a, const Var& b);  ///< f = gelu: GEGLU

// Functions of two numbers, by elements: the lines of NINE_FOR_EACH_BINARY, which say what each
// function computes. Var add(const Var& a, const Var& b), sub, mul, div, maximum, minimum, pow.
// Shapes are broadcast as in NumPy: they are aligned at their last dimensions, and a dimension that
// is 1 or missing is repeated. The gradient of an argument is summed over the elements that it was
// repeated for. All but div and pow also take int32 and int64, and
// wrap around as in NumPy. Errors: two dimensions differ and neither is 1; the types differ (cast()
// one of them).
#define NINE_DECLARE(NAME, ...) Var NAME(const Var& a, const Var& b);
NINE_FOR_EACH_BINARY(NINE_DECLARE)
#undef NINE_DECLARE
Var maximum(const Var& a, Number b);
Var maximum(Number a, const Var& b);
Var minimum(const Var& a, Number b);
Var minimum(Number a, const Var& b);
Var pow(Number a, const Var& b);
/// Returns x broadcast to `shape` by the rule above; dx = dy, summed over the elements of the
/// broadcast. Error: x cannot be broadcast to `shape`.
Var broadcast_to(const Var& x, const Shape& shape);

// The functions above as operators. A number stands for a tensor of this value in the other
// argument's shape and type.
Var operator+(const Var& a, const Var& b);
Var operator+(const Var& a, Number b);
Var operator+(Number a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator-(const Var& a, Number b);
Var operator-(Number a, const Var& b);
Var operator*(const Var& a, const Var& b);  ///< by elements, as in PyTorch; products: matmul()
Var operator*(const Var& a, Number b);
Var operator*(Number a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var operator/(const Var& a, Number b);
Var operator/(Number a, const Var& b);
Var operator-(const Var& x);  ///< neg(x)

// Of integers and bool, sum() is int64 and mean() is float64, as in autograd/arrays.h.
Var sum(const Var& x);   ///< of all elements: a scalar of x's type; dx = dy everywhere
Var mean(const Var& x);  ///< of all n elements: a scalar of x's type; dx = dy / n everywhere
/// Sums each column of x (..., n) over all dimensions but the last; returns (n). dx = dy in every
/// row.
Var column_sums(const Var& x);
/// Computes the sum of the squares of all elements of x, float32 or float64, as a float64 scalar;
/// dx = 2 x dy.
Var sum_squares(const Var& x);
/// Converts x to another type; dx is dy in x's type. To and from integers and bool as
/// ops::convert() does; such a result has no gradient.
Var cast(const Var& x, DType dtype);
/// Returns x without its gradient, sharing x's memory: PyTorch's detach().
Var detach(const Var& x);

/// Computes the matrix product y = op(a) op(b), where op(x) is x, or x' if its flag is set: op(a)
/// (m, k), op(b) (k, n), y (m, n). A tensor of another rank counts as a matrix with shape.rows()
/// rows; batched_matmul() (autograd/arrays.h) has NumPy's rule. Error: the inner dimensions
/// differ.
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

// Ranges of a matrix x (rank 2), which share its memory. dx is dy in the range, and 0 elsewhere.
// Error: the range is not inside of the matrix.
Var row_range(const Var& x, int64_t begin, int64_t count);  ///< rows [begin, begin + count)
Var col_range(const Var& x, int64_t begin, int64_t count);  ///< columns [begin, begin + count)
/// Returns the same elements in another shape; shares x's memory. Errors: the number of elements
/// differs; x has gaps between its rows (a col_range()) and the new rows have another length.
Var reshape(const Var& x, const Shape& shape);
/// Does the same; one size may be -1, and follows from the others. Errors: two sizes are -1; the
/// other sizes do not divide the number of elements.
Var reshape(const Var& x, std::initializer_list<int64_t> sizes);
/// Copies the rows of x (first * second, d) in another order: row i * second + j of x becomes row j
/// * first + i of y, for i < first and j < second. With first = steps, rows in time order (t *
/// batch + b) become rows in sentence order (b * steps + t). Errors: x is not a matrix; `first`
/// does not divide the number of rows.
Var transpose_rows(const Var& x, int64_t first);
/// Copies matrices (n_i, d) of equal width and type, one below the other; returns (sum of n_i, d).
/// Errors: `parts` is empty; widths or types differ.
Var concat_rows(std::span<const Var> parts);

/// Looks up y[i, :] = table[ids[i], :]: table (V, d), ids (...) with at most five dimensions, y
/// (..., d). A table (V) counts as (V, 1), so y is (..., 1). A table of a higher rank counts as the
/// matrix of its rows. Error: an id outside of [0, V).
Var embedding(const Var& table, const Tensor& ids);
/// Computes factor * table[ids] + positions, the input of a Transformer: table (V, d), ids (batch,
/// steps), positions (T, d), y (batch * steps, d). Row b * steps + t of y is factor * table[ids[b,
/// t], :] + positions[t, :]. Only the table has a gradient. Errors: steps > T; an id outside of [0,
/// V).
Var embedding_with_positions(const Var& table, const Tensor& ids, double factor,
                             const Tensor& positions);
/// Applies inverted dropout: an element becomes 0 with probability p, and x / (1 - p) otherwise.
/// The tape's random key (Tape::set_random_key) and `stream`, a name for this use of dropout,
/// determine the random numbers: in one step, two calls with one name drop the same elements.
/// Returns x if p = 0 or under NoGrad. If mask_rows = 0, each row has a mask of its own. Otherwise
/// row r has mask r mod mask_rows: with mask_rows = batch, all time steps of x (steps * batch,
/// width) share one mask (variational dropout). Error: p outside of [0, 1).
Var dropout(const Var& x, double p, std::string_view stream, int64_t mask_rows = 0);
/// Applies dropout to whole words: x (n, d) has a row for each of the n `ids`, and all rows of one
/// id are kept or dropped together. p, stream and error as in dropout(). Error: a negative id.
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
/// Applies rms_norm() with first.gamma to the first first.count columns of x (rows, n), and with
/// second.gamma to the next second.count columns. Copies the other columns. y has x's shape. Error:
/// x has fewer than first.count + second.count columns.
Var rms_norm_columns(const Var& x, const NormedColumns& first, const NormedColumns& second = {},
                     double eps = 1e-5);
/// Rotates the first `columns` columns of x (sequences * steps, n), and copies the other columns;
/// see ops::rotary. Row r of x has the angles in row r mod steps of `angles` (steps, size), which
/// is on x's device and has x's type. Errors: columns is below 1, above n, or not a multiple of
/// `size`; `steps` does not divide the rows.
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

/// The sizes, the mask and the dropout of multi-head attention. ops::Attention has the formula.
struct AttentionShape {
  int64_t batch = 1, heads = 1;
  /// For self-attention: the number of heads of keys and values, a divisor of `heads`; 0: as many
  /// as `heads`. Not used with a separate kv, whose width gives the number.
  int64_t kv_heads = 0;
  Tensor lengths = {};  ///< (batch) int32: numbers of keys before the padding; empty: no padding
  bool causal = false;  ///< query t attends to keys 0 ... t only
  double dropout = 0;   ///< rate on the softmax's probabilities; 0 under NoGrad
  std::string_view stream = {};  ///< name of this dropout, as in dropout()
};
/// Computes multi-head self-attention: qkv (batch * steps, (heads + 2 kv_heads) * size) holds
/// queries, keys and values side by side; y is (batch * steps, heads * size). Row b * steps + t is
/// step t of sequence b. Errors: `batch` does not divide the rows; the heads do not divide the
/// columns; kv_heads does not divide heads; a length outside of [0, steps].
Var attention(const Var& qkv, const AttentionShape& shape);
/// Computes multi-head attention of q (batch * queries, heads * size) to kv (batch * keys,
/// 2 kv_heads * size), which holds keys and values side by side; y has q's shape. Rows are in the
/// order of self-attention. Errors: as above; `causal` with queries != keys.
Var attention(const Var& q, const Var& kv, const AttentionShape& shape);
/// The keys that each query attends to in decoding: query i attends to the rows rows[first[i]],
/// ..., rows[first[i] + counts[i] - 1] of a matrix of keys and values (ops::ListedAttention).
/// int32, on the tape's device. ReadWords::lists() makes the lists.
struct KeyLists {
  Tensor rows = {}, first = {}, counts = {};

  explicit operator bool() const { return static_cast<bool>(counts); }
};
/// Computes multi-head attention of q (queries, heads * size) to the listed rows of kv (keys,
/// 2 kv_heads * size), where kv_heads divides heads; y has q's shape. Unless `weights` is empty,
/// writes the attention weights there, as the mean over heads: (queries, at least the length of the
/// longest list), in q's type. Has no gradient. Error: the tape is recording.
Var attention(const Var& q, const Var& kv, const KeyLists& lists, int64_t heads,
              const Tensor& weights = {});

// Softmax over the last dimension; autograd/arrays.h has it over another one.
Var softmax(const Var& x);      ///< e^x / sum(e^x); dx = y (dy - sum(dy y))
Var log_softmax(const Var& x);  ///< x - log(sum(e^x)); dx = dy - e^y sum(dy)
/// Computes the weighted negative log-likelihood of log_probs (n, V): -row_weight * sum of
/// log_probs[r, targets[r]] over the rows r with targets[r] >= 0, a float64 scalar in nats. targets
/// (n); -1: the row does not count. Error: a target outside of [-1, V).
Var nll(const Var& log_probs, const Tensor& targets, double row_weight);
/// Returns the number of targets (int32 or int64, any shape and device) that are 0 or more. Copies
/// the targets, unless they are contiguous int32 on the CPU.
int64_t count_targets(const Tensor& targets);
/// Computes the mean of -log_softmax(logits)[r, targets[r]] over the rows r with targets[r] >= 0, a
/// float64 scalar in nats: PyTorch's cross_entropy with ignore_index -1. logits (n, V); targets (n)
/// int32 or int64, on the CPU or the tape's device. dlogits = dy (softmax(logits) - one-hot
/// targets) / (number of these rows), and 0 in other rows. Errors: no target is >= 0 (PyTorch gives
/// NaN); a target outside of [-1, V).
Var cross_entropy(const Var& logits, const Tensor& targets);
/// Computes the mean of (x - target)^2 over all n elements, a scalar of x's type; dx = 2 dy (x -
/// target) / n, dtarget = -dx. Error: the shapes differ.
Var mse_loss(const Var& x, const Var& target);

}  // namespace nine
