// Every operation of the engine on plain views, declared once; those of the output layer are in
// kernels/ops.h. A call checks shapes and types, counts its cost, and runs the implementation of
// the views' device, in core/cpu/ or cuda/, which it finds in a table of function pointers
// (core/op_table.h). core/op_list.h lists the names.
//
// Conventions. A view is seen as a matrix (rows x cols, leading dimension). Unless said otherwise
// the views of a call have one float type, float32 or float64, and are on one device. Results go to
// an OutputView, which says whether they overwrite or are added to what is there. Sums have a fixed
// order: the same bits with any number of threads. Index views (`ids`, `targets`) are int32. From
// an `arena` an op takes temporary memory, which it has released when it returns.
#pragma once

#include <initializer_list>
#include <span>
#include <variant>

#include "core/arena.h"
#include "core/random.h"
#include "core/tensor.h"

namespace nine::ops {

// --- memory

/// y = value, any dtype.
void fill(const View& y, double value);
/// y(ids[i], :) = value for all i; the other rows of y stay. ids int32 on y's device.
void fill_rows(const View& y, const View& ids, double value);
/// y = x, same shape; converts between float32, float64 and bfloat16.
void copy(const View& x, const View& y);
/// Whether no element is NaN or infinite (float32, float64). Waits for the device.
bool all_finite(const View& x);

// --- elementwise

enum class Unary : uint8_t {
  neg,
  exp,
  log,
  tanh,
  sigmoid,
  relu,
  square,
  sqrt,
  abs,
  gelu,       // x Phi(x), Phi the distribution function of N(0, 1)
  gelu_tanh,  // gelu's approximation by a tanh
};
/// y = f(x), same shape.
void unary(Unary f, const View& x, const OutputView& y);
/// dx = dy * f'(x), given x and y = f(x).
void unary_backward(Unary f, const View& x, const View& y, const View& dy, const OutputView& dx);

enum class Binary : uint8_t { add, sub, mul, div };
/// y = a op b. b has a's shape, or is one row (rank 1, a.cols() elements) that is combined with
/// every row of a, or one number (rank 0) that is combined with every element.
void binary(Binary f, const View& a, const View& b, const OutputView& y);
/// y = alpha * x, same shape.
void scale(double alpha, const View& x, const OutputView& y);

// --- reductions

/// y[c] = sum over rows of x(r, c); y has x.cols() elements.
void column_sums(const View& x, const OutputView& y);
/// y = sum of all elements; y is a scalar.
void sum(const View& x, const OutputView& y);
/// out = sum of squares in float64 whatever x's type; out is a float64 scalar.
void sum_squares(const View& x, const View& out);

// --- products

/// c = alpha * op(a) op(b), where op(x) is x, or its transpose if so said. c (m, n), op(a) (m, k),
/// op(b) (k, n). A tensor of higher rank counts as the matrix of its rows.
void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha = 1.0);

/// y = x w' + bias, and with `relu` max(0, that). x (n, in), w (out, in), bias (out), y (n, out).
void linear(const View& x, const View& w, const View& bias, bool relu, const View& y);

// --- layers

/// y(r, :) = table(ids[r], :). ids outside of [0, table.rows()) are an error.
void embedding(const View& table, const View& ids, const View& y);
/// The input of a Transformer: y(r, :) = scale * table(ids[r], :) + positions(r mod steps, :); rows
/// are b * steps + t, and positions has `steps` rows.
void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y);
/// table_grad(ids[r], :) += dy(r, :), rows in ascending order of r.
void embedding_backward(const View& dy, const View& ids, const View& table_grad);

/// y = x * m / (1 - p), m = 1 where the key's uniform number is >= p and 0 elsewhere; p in [0, 1).
/// Backward is the same call on dy. With mask_rows the mask has only that many rows, and row r uses
/// its row r mod mask_rows: with `batch` rows for each time step, all time steps then have one mask
/// (variational dropout; Gal & Ghahramani, 2016).
void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows = 0);
/// y(r, :) = x(r, :) * m(ids[r]) / (1 - p): drops whole words, all rows of one id together (Gal &
/// Ghahramani, 2016; embedding dropout of Merity et al., 2018). m(v) = 1 where the key's v-th
/// uniform number is >= p. No id may be negative. Backward is the same call on dy.
void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y);
/// The end of a residual branch: y = residual + dropout(x + bias), where bias is one row. The mask
/// is that of dropout() with the same p and key, so that a call of dropout() on dy is its backward.
/// y may be x or residual.
void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y);

/// y = (x - mean) * rstd * gamma + beta over the last dimension (Ba et al., 2016); variance divides
/// by cols; mean and rstd (one number a row, x's dtype) are kept for backward.
void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd);
/// Gradients of layer_norm. An output without memory is not computed.
void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta);

/// One layer of LSTM over a whole sequence (Hochreiter & Schmidhuber, 1997, in PyTorch's form),
/// with s the logistic function:
///   [i f g o] = x_t W_ih' + b_ih + h_{t-1} W_hh' + b_hh
///   c_t = s(f) c_{t-1} + s(i) tanh(g)
///   h_t = s(o) tanh(c_t)
/// T steps, batch B, input size I, hidden size H. Row t * B + b of x and gates is step t of batch
/// element b.
struct Lstm {
  View x;           ///< (T*B, I)
  View w_ih, w_hh;  ///< (4H, I), (4H, H); gate order i f g o
  View b_ih, b_hh;  ///< (4H) each
  View h0, c0;      ///< (B, H)
  View hidden;      ///< out ((T+1)*B, H): h_0 (a copy), h_1 ... h_T
  View cells;       ///< out ((T+1)*B, H): c_0 (a copy), c_1 ... c_T
  View gates;       ///< out (T*B, 4H): the gates after sigmoid and tanh, kept for backward

  int64_t batch() const { return h0.rows(); }
  int64_t size() const { return h0.cols(); }
  int64_t steps() const { return x.rows() / h0.rows(); }
};
/// Fills hidden, cells and gates.
void lstm(const Lstm& io, Arena& arena);
/// What lstm_backward is given, dL/dh_t and the gradients of the last state (empty views count as
/// zero), and where its results go (an output without memory is not computed).
struct LstmGradients {
  View dy;          ///< (T*B, H): of h_1 ... h_T
  View dh_n, dc_n;  ///< (B, H)
  OutputView dx, dw_ih, dw_hh, db_ih, db_hh, dh0, dc0;
};
/// Overwrites io.gates with the gradients of the gates before their non-linearity.
void lstm_backward(const Lstm& io, const LstmGradients& g, Arena& arena);
/// The part of lstm_backward that runs over time, from the last step to the first: the gates'
/// gradients, in place of io.gates. dc (B, H): in dL/dc_T, out dL/dc_0. dh (B, H): scratch; out
/// dL/dh_0 if g.dh0 is set. Of g it reads dy, dh_n and whether dh0 is set.
void lstm_through_time(const Lstm& io, const LstmGradients& g, const View& dh, const View& dc,
                       Arena& arena);

/// Multi-head scaled dot-product attention (Vaswani et al., 2017, section 3.2). A head is a range
/// of `size` columns of every matrix. For each batch element and head,
///   y = softmax(q k' / sqrt(size)) v,
/// where a query's softmax is over the keys that it may see; one that may see none has y = 0.
/// Nothing of size queries x keys is kept: backward computes the scores again from lse.
///
/// A step of decoding is one query for each batch element against cached keys, `lengths` of them;
/// or the hypotheses of a beam as the queries of one batch element, against the encoder's output
/// for the sentence that they share.
struct Attention {
  /// (batch * queries, heads * size), rows b * queries + t; may be columns of a wider matrix, and
  /// so may k and v.
  View q;
  View k, v;  ///< (batch * keys, heads * size), rows b * keys + s
  View y;     ///< out, shape of q
  /// Out (batch * heads, queries): log sum over keys of e^score; infinity where no key is seen.
  View lse;
  /// (batch) int32: how many keys there are; those after them are padding and never read. Empty:
  /// all.
  View lengths;
  int64_t batch = 1;
  int64_t heads = 1;
  bool causal = false;  ///< query t sees keys 0 ... t only; as many queries as keys
  /// Of the softmax's probabilities, after it (as torch.nn.MultiheadAttention's): in [0, 1). The
  /// factor of query t and key s is dropout()'s of element
  /// ((b * heads + head) * keys + s) * queries + t. Backward takes the same numbers.
  double dropout = 0;
  RandomKey key = {};

  int64_t queries() const { return q.rows() / batch; }
  int64_t keys() const { return k.rows() / batch; }
  int64_t size() const { return q.cols() / heads; }
  /// Operations, masked ones too.
  double flops() const {
    return 4.0 * static_cast<double>(q.elements()) * static_cast<double>(keys());
  }
};
/// Fills y and lse.
void attention(const Attention& io);
/// dL/dy, and where the gradients go (an output without memory is not computed).
struct AttentionGradients {
  View dy;
  OutputView dq, dk, dv;
};
void attention_backward(const Attention& io, const AttentionGradients& g);

// --- softmax and losses

/// y = x - log sum exp(x), row by row.
void log_softmax(const View& x, const View& y);
/// dx = dy - exp(y) * sum(dy), row by row.
void log_softmax_backward(const View& y, const View& dy, const OutputView& dx);
/// loss = -row_weight * sum_r log_probs(r, targets[r]), a float64 scalar. A row whose target is -1
/// does not count.
void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss);
/// dlog_probs(r, targets[r]) -= row_weight * grad_output, a float64 scalar.
void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs);

// --- optimisers
//
// Each is one pass over parameters and gradients, which are contiguous slabs. The gradient is first
// multiplied by min(1, max_norm / (sqrt(norm_squared) + 1e-6)), as PyTorch's clip_grad_norm_ does,
// unless max_norm = 0.

/// Gradient clipping.
struct Clip {
  View norm_squared;    ///< float64 scalar from sum_squares
  double max_norm = 0;  ///< 0: no clipping; negative: an Error
};
// The numbers of one update by a rule: a struct for each rule, whose formula is UpdateRule in
// core/update_rules.h. kName is its name in errors and profiles; kOperations counts those for one
// weight; states() is how many numbers it keeps for each weight.

/// Adam (Kingma & Ba, 2015), eps outside of the root of v-hat; decoupled = AdamW (Loshchilov &
/// Hutter, 2019). States: m and v, the running means of the gradient and of its square.
struct AdamStep {
  static constexpr const char* kName = "adam";
  static constexpr double kOperations = 12;
  static constexpr size_t states() { return 2; }

  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;
  int64_t t = 1;  ///< 1 for the first update
};
/// SGD: u = momentum * u + g (+ weight_decay * w), w -= lr * u. State: u; none without momentum.
struct SgdStep {
  static constexpr const char* kName = "sgd";
  static constexpr double kOperations = 4;
  size_t states() const { return momentum != 0 ? 1 : 0; }

  double lr = 1, momentum = 0, weight_decay = 0;
};
using UpdateStep = std::variant<AdamStep, SgdStep>;

/// Updates the parameters w from their gradients g by the rule of `step`. `states` are the rule's,
/// zeros before the first update. All have one shape. ids: of w only the rows that these int32 on
/// w's device name, each once; null: all rows.
void update(const View& w, const View& g, std::initializer_list<View> states, const View* ids,
            const Clip& clip, const UpdateStep& step);

/// update() by AdamStep.
inline void adam(const View& w, const View& g, const View& m, const View& v, const Clip& clip,
                 const AdamStep& step) {
  update(w, g, {m, v}, nullptr, clip, step);
}
/// The same for the rows that `ids` name.
inline void adam_rows(const View& w, const View& g, const View& m, const View& v, const View& ids,
                      const Clip& clip, const AdamStep& step) {
  update(w, g, {m, v}, &ids, clip, step);
}
/// update() by SgdStep; u is empty without momentum.
inline void sgd(const View& w, const View& g, const View& u, const Clip& clip,
                const SgdStep& step) {
  if (u) return update(w, g, {u}, nullptr, clip, step);
  update(w, g, {}, nullptr, clip, step);
}

/// mean += weight * (w - mean): the running mean of averaged SGD (Polyak & Juditsky, 1992) with
/// weight = 1/n.
void average(const View& mean, const View& w, double weight);

}  // namespace nine::ops
