// Every operation of the engine on plain views, declared once. The ops of the output layer are in
// kernels/ops.h. A call checks shapes and types, counts its cost, and runs the implementation for
// the views' device, in core/cpu/ or cuda/. The call finds the implementation in a table of
// function pointers (core/op_table.h). core/op_list.h lists the names of the ops.
//
// Conventions. An op treats a view as a matrix (rows x cols, leading dimension). Unless a comment
// says otherwise, the views of a call have one float type, float32 or float64, and are on one
// device. An OutputView says whether a result overwrites the old contents or is added to them. Sums
// have a fixed order, so that the bits do not depend on the number of threads. Index views (`ids`,
// `targets`) are int32. An op releases the temporary memory that it takes from `arena` before it
// returns. A violated condition is an Error that names the op and the shapes. On a GPU the op
// itself does not report an index out of range: the next copy from the GPU throws the Error. In
// comments x' is the transpose of x.
#pragma once

#include <initializer_list>
#include <span>
#include <variant>

#include "core/arena.h"
#include "core/elementwise_list.h"
#include "core/random.h"
#include "core/tensor.h"

namespace nine::ops {

// --- memory

/// Sets y = value, any dtype.
void fill(const View& y, double value);
/// Sets y(ids[i], :) = value for all i and keeps the other rows of y. ids: int32 on y's device.
void fill_rows(const View& y, const View& ids, double value);
/// Sets y = x, same shape; x and y may be on different devices. Converts between float32, float64
/// and bfloat16. If x or y has an integer type or bool, both must have the same type; convert()
/// (core/array_ops.h) converts these types.
void copy(const View& x, const View& y);
/// True if no element is NaN or infinite (float32, float64). Waits for the device.
bool all_finite(const View& x);

// --- elementwise

/// Functions of one number: the lines of NINE_FOR_EACH_UNARY.
enum class Unary : uint8_t {
#define NINE_NAME(NAME, ...) NAME,
  NINE_FOR_EACH_UNARY(NINE_NAME, NINE_NAME, NINE_NAME)
#undef NINE_NAME
};
/// Computes y = f(x), same shape, where f has the parameters p and q.
void unary(Unary f, const View& x, const OutputView& y, double p = 0, double q = 0);
/// Computes dx = dy * f'(x), given x and y = f(x).
void unary_backward(Unary f, const View& x, const View& y, const View& dy, const OutputView& dx,
                    double p = 0, double q = 0);
/// Computes y = f(a) * b, all of one shape: a gated linear unit (Shazeer, 2020). Error: f is not in
/// NINE_FOR_EACH_GATE.
void gated(Unary f, const View& a, const View& b, const View& y);
/// Computes da = dy * b * f'(a) and db = dy * f(a). Skips each output whose view is empty.
void gated_backward(Unary f, const View& a, const View& b, const View& dy, const OutputView& da,
                    const OutputView& db);

/// Functions of two numbers: the lines of NINE_FOR_EACH_BINARY.
enum class Binary : uint8_t {
#define NINE_NAME(NAME, ...) NAME,
  NINE_FOR_EACH_BINARY(NINE_NAME)
#undef NINE_NAME
};
/// Computes y = f(a, b); y has a's shape. b has a's shape, or is one row (rank 1, a.cols()
/// elements) for every row of a, or one number (rank 0) for every element.
void binary(Binary f, const View& a, const View& b, const OutputView& y);
/// Computes y = alpha * x, same shape.
void scale(double alpha, const View& x, const OutputView& y);

// --- reductions

/// Computes y[c] = sum over rows of x(r, c); y has x.cols() elements.
void column_sums(const View& x, const OutputView& y);
/// Computes y = sum of all elements; y is a scalar.
void sum(const View& x, const OutputView& y);
/// Computes out = sum of squares; out is a float64 scalar for every type of x, and the sum is in
/// float64.
void sum_squares(const View& x, const View& out);

// --- products

/// Computes c = alpha * op(a) op(b), where op(x) is x, or x' if its flag is set. c (m, n), op(a)
/// (m, k), op(b) (k, n). A tensor of rank above 2 counts as the matrix of its rows.
void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha = 1.0);

/// Computes y = x w' + bias, or y = max(0, x w' + bias) if `relu`. x (n, in), w (out, in), bias
/// (out), y (n, out).
void linear(const View& x, const View& w, const View& bias, bool relu, const View& y);

// --- layers

/// Sets y(r, :) = table(ids[r], :): table (V, d), n ids, y (n, d). Error: an id outside of [0, V).
void embedding(const View& table, const View& ids, const View& y);
/// Computes the input of a Transformer: y(r, :) = scale * table(ids[r], :) + positions(r mod steps,
/// :). Row b * steps + t is step t of batch element b, and positions has `steps` rows.
void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y);
/// Computes table_grad(ids[r], :) += dy(r, :) for all rows r of dy (n, d), in ascending order;
/// table_grad (V, d), n ids.
void embedding_backward(const View& dy, const View& ids, const View& table_grad);

/// Computes y = x * m / (1 - p), same shape, where m is 0 with probability p and 1 otherwise; p in
/// [0, 1). m = 1 if random_uniform(key, e) >= p, for element e of the mask. Backward is the same
/// call on dy. If mask_rows = 0, the mask has x's shape. Otherwise the mask has mask_rows rows, and
/// row r of x uses row r mod mask_rows. With mask_rows = batch all time steps share one mask
/// (variational dropout; Gal & Ghahramani, 2016).
void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows = 0);
/// Computes y(r, :) = x(r, :) * m(ids[r]) / (1 - p), where m(v) = 1 if the key's v-th uniform
/// number is >= p, and 0 otherwise. All rows of one id are kept or dropped together: dropout of
/// whole words (Gal & Ghahramani, 2016; embedding dropout of Merity et al., 2018). Backward is the
/// same call on dy. Error: a negative id.
void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y);
/// Computes the end of a residual branch: y = residual + dropout(x + bias), where bias is one row.
/// dropout() on dy with the same p and key is the backward, because the masks are the same. y may
/// be x or residual.
void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y);

/// Computes y = (x - mean) * rstd * gamma + beta over the last dimension (Ba et al., 2016), where
/// rstd = 1 / sqrt(variance + eps) and the variance divides by cols. gamma and beta have cols
/// elements. mean and rstd are outputs for backward: one number a row, of x's dtype.
void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd);
/// Computes the gradients of layer_norm. Skips each output whose view is empty.
void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta);

/// Computes y = x * rstd * gamma, where rstd = 1 / sqrt(mean of x^2 + eps) (Zhang & Sennrich,
/// 2019). A row of x is cut into parts as long as gamma, and each part is normalised on its own.
/// rstd is an output for backward: one number for each part of each row, of x's dtype.
void rms_norm(const View& x, const View& gamma, double eps, const View& y, const View& rstd);
/// Computes the gradients of rms_norm. Skips each output whose view is empty.
void rms_norm_backward(const View& x, const View& gamma, const View& rstd, const View& dy,
                       const OutputView& dx, const OutputView& dgamma);

/// Rotates pairs of numbers (Su et al., 2021). A row of x is cut into parts (heads) as long as a
/// row of `angles`, s numbers: the cosines of s/2 angles, then their sines. Elements i and s/2 + i
/// of a part are a pair, as in Hugging Face's Llama: y_i = x_i cos_i - x_(s/2+i) sin_i and
/// y_(s/2+i) = x_(s/2+i) cos_i + x_i sin_i. Row r has the angles of row r mod angles.rows().
/// `inverse` rotates back, which is also the gradient. y may be x.
void rotary(const View& x, const View& angles, bool inverse, const OutputView& y);

/// The views of one LSTM layer over a whole sequence (Hochreiter & Schmidhuber, 1997, in PyTorch's
/// form), where s is the logistic function:
///   [i f g o] = x_t W_ih' + b_ih + h_{t-1} W_hh' + b_hh
///   c_t = s(f) c_{t-1} + s(i) tanh(g)
///   h_t = s(o) tanh(c_t)
/// T steps, batch size B, input size I, hidden size H. Row t * B + b of x and gates is step t of
/// batch element b.
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
/// Computes hidden, cells and gates.
void lstm(const Lstm& io, Arena& arena);
/// The gradients that lstm_backward() reads (dy, dh_n, dc_n; an empty view counts as zero) and
/// writes. The function skips each output whose view is empty.
struct LstmGradients {
  View dy;          ///< (T*B, H): gradients of h_1 ... h_T
  View dh_n, dc_n;  ///< (B, H)
  OutputView dx, dw_ih, dw_hh, db_ih, db_hh, dh0, dc0;
};
/// Computes the gradients of one LSTM layer. Overwrites io.gates with the gradients of the gates
/// before their non-linearity.
void lstm_backward(const Lstm& io, const LstmGradients& g, Arena& arena);
/// Runs the part of lstm_backward() that goes over time, from the last step to the first.
/// Overwrites io.gates with the gates' gradients. dc (B, H) holds dL/dc_T on entry and dL/dc_0 on
/// return. dh (B, H) is working memory; if g.dh0 is not empty, dh holds dL/dh_0 on return. The
/// function reads g.dy, g.dh_n and whether g.dh0 is empty; `dc` takes the place of g.dc_n.
void lstm_through_time(const Lstm& io, const LstmGradients& g, const View& dh, const View& dc,
                       Arena& arena);

/// The views of one time step of a GRU (Cho et al., 2014, in PyTorch's form), where s is the
/// logistic function, and the gates' inputs are x W_ih' + b_ih and h W_hh' + b_hh:
///   r = s(x_r + h_r), z = s(x_z + h_z), n = tanh(x_n + r h_n)
///   y = (1 - z) n + z h
struct GruCell {
  View from_x, from_h;  ///< (B, 3H): inputs of the gates, in the order r z n
  View h;               ///< (B, H): the state before the step
  View y;               ///< out (B, H): the state after the step
  View gates;           ///< out (B, 3H): r, z and n, kept for backward
};
/// Computes y and gates.
void gru_cell(const GruCell& io);
/// Computes dh (B, H), the part of dL/dh that does not go through from_h. Overwrites io.gates by
/// dL/dfrom_x and io.from_h by dL/dfrom_h. Does not read io.from_x and io.y.
void gru_cell_backward(const GruCell& io, const View& dy, const View& dh);

/// The views of multi-head scaled dot-product attention (Vaswani et al., 2017, section 3.2). An
/// attention head is a range of `size` columns of every matrix. For each batch element and head,
///   y = softmax(q k' / sqrt(size)) v,
/// where a query's softmax is over the keys that the query may see. If a query may see no key, y =
/// 0. No matrix of queries x keys is kept: backward recomputes the scores and takes their
/// normaliser from lse.
///
/// A decoding step has one query for each batch element against `lengths` cached keys. In beam
/// search, the hypotheses of a sentence can be the queries of one batch element, against the
/// encoder output that they share.
struct Attention {
  /// (batch * queries, heads * size), rows b * queries + t. q, k and v may each be a range of
  /// columns of a wider matrix.
  View q;
  /// (batch * keys, kv_heads * size), rows b * keys + s. With fewer heads of keys than of queries
  /// (Ainslie et al., 2023), head h of the queries reads head h / (heads / kv_heads) of the keys.
  View k, v;
  View y;  ///< out, shape of q
  /// Out (batch * heads, queries): log sum over keys of e^score. If the query sees no key it is
  /// +infinity, so that e^(score - lse) = 0.
  View lse;
  /// (batch) int32: the number of keys of each batch element, in [0, keys()]. Later keys are
  /// padding and are never read. Empty: every batch element has keys() keys.
  View lengths;
  int64_t batch = 1;
  int64_t heads = 1;
  bool causal = false;  ///< query t sees keys 0 ... t only; queries() = keys()
  /// Dropout rate of the probabilities, in [0, 1), applied after the softmax as in
  /// torch.nn.MultiheadAttention. The probability of query t and key s is multiplied by 0 or by
  /// 1 / (1 - p), as element ((b * heads + head) * keys + s) * queries + t in dropout(). Backward
  /// needs the same rate and key.
  double dropout = 0;
  RandomKey key = {};

  int64_t queries() const { return q.rows() / batch; }
  int64_t keys() const { return k.rows() / batch; }
  int64_t size() const { return q.cols() / heads; }
  int64_t kv_heads() const { return k.cols() / size(); }
  /// Returns the number of floating-point operations, masked pairs included.
  double flops() const {
    return 4.0 * static_cast<double>(q.elements()) * static_cast<double>(keys());
  }
};
/// Computes y and lse.
void attention(const Attention& io);
/// The gradients that attention_backward() reads (dy) and writes. The function skips each output
/// whose view is empty.
struct AttentionGradients {
  View dy;
  OutputView dq, dk, dv;
};
/// Computes dq, dk and dv from io, with y and lse filled, and dy.
void attention_backward(const Attention& io, const AttentionGradients& g);

/// The views of attention in decoding: query i attends to the rows rows[first[i]], ...,
/// rows[first[i] + counts[i] - 1] of `keys_values`. Each list has at least one row, and lists may
/// share rows. On the CPU the bits of a query's result do not depend on the other queries.
struct ListedAttention {
  View q;  ///< (queries, heads * size)
  /// (keys, 2 * kv_heads * size): a row has the keys of all heads, then the values of all heads.
  View keys_values;
  View rows;           ///< int32, of any length: row numbers of keys_values
  View first, counts;  ///< (queries) int32
  View y;              ///< out, shape of q
  /// Out, (queries, at least the longest list): the weights of a query's list, as the mean over
  /// heads; later columns are left as they are. Empty: not wanted.
  View weights = {};
  int64_t heads = 1;

  int64_t size() const { return q.cols() / heads; }
  int64_t kv_heads() const { return keys_values.cols() / (2 * size()); }
};
/// Computes y and weights.
void listed_attention(const ListedAttention& io);

// --- images

/// Two sizes of a plane; one number stands for both.
struct Size2d {
  int64_t height = 1, width = 1;

  constexpr Size2d() = default;
  constexpr Size2d(int64_t both) : height(both), width(both) {}  // NOLINT: a number is a size
  constexpr Size2d(int64_t h, int64_t w) : height(h), width(w) {}
  friend constexpr bool operator==(const Size2d&, const Size2d&) = default;
};
/// The windows that a convolution or a pooling moves over a plane. Window (oy, ox) has the kernel's
/// elements (ky, kx) at row oy * stride - padding + ky * dilation, and at the column likewise.
/// Elements outside of the plane are padding.
struct Windows {
  Size2d kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Returns how many windows a plane of that size has. UsageErrors: a kernel, stride or dilation
  /// below 1; a negative padding; a plane, with its padding, that is smaller than the kernel.
  Size2d count(const Size2d& plane) const;
};
/// Computes the matrix of all windows of images: x (N, C, H, W), cols (C * K, N * P). K is the
/// number of a kernel's elements, and P the number of windows of a plane. Row (c * kernel.height +
/// ky) * kernel.width + kx has element (ky, kx) of channel c of each window; padding is 0. Columns
/// n * P ... (n + 1) * P - 1 have the windows of image n, row by row.
void im2col(const View& x, const Windows& windows, const View& cols);
/// Computes the transposed map: each element of x is the sum of its copies in `cols`.
void col2im(const View& cols, const Windows& windows, const OutputView& x);
/// Copies rows in another order, with one number of `bias` added to each row: x (first * second,
/// d), and row j * first + i of y is row i * second + j of x plus bias[i]. bias has `first`
/// elements, or is empty.
void transpose_blocks(const View& x, int64_t first, const View& bias, const View& y);
/// Computes the largest element of each window of x (N, C, H, W): y (N, C, OH, OW). `places`
/// (int32, y's shape) is an output for backward: the index of this element in its plane, the first
/// one of equal elements. A NaN counts as the largest. Padding is no element of a window. A window
/// with a dilation may lie in the padding alone: y is then -infinity, and `places` has -1. Error:
/// the padding is more than half of the kernel.
void max_pool(const View& x, const Windows& windows, const View& y, const View& places);
/// Computes dx: dy goes to the elements at `places`.
void max_pool_backward(const View& dy, const View& places, const Windows& windows,
                       const OutputView& dx);
/// Computes the mean of each window of x (N, C, H, W): y (N, C, OH, OW). With `count_padding` the
/// mean counts padding as zeros, otherwise it leaves padding out. Errors: a dilation other than 1;
/// the padding is more than half of the kernel.
void avg_pool(const View& x, const Windows& windows, bool count_padding, const View& y);
/// Computes dx: each element of a window has an equal part of dy.
void avg_pool_backward(const View& dy, const Windows& windows, bool count_padding,
                       const OutputView& dx);

/// The views of a normalisation by channels: y = (x - mean) / sqrt(variance + eps) * gamma + beta.
/// x (N, C, ...) counts as (N, C, P), contiguous; gamma and beta have a number for each channel.
/// The elements that share mean and variance are a set. Batch norm (Ioffe & Szegedy, 2015), groups
/// = 0: the N * P elements of a channel. Group norm (Wu & He, 2018): the C / groups * P elements of
/// a group of channels of one example.
struct ChannelNorm {
  View x;
  View gamma, beta;  ///< (C)
  /// (sets()) float64; the variance divides by the number of a set's elements. Set c is channel c,
  /// or set n * groups + g is group g of example n.
  View mean, variance;
  int64_t groups = 0;
  double eps = 1e-5;
  /// True: mean and variance are inputs and constants. False: outputs, and the gradient goes
  /// through both.
  bool given = false;

  int64_t examples() const { return x.shape[0]; }
  int64_t channels() const { return x.shape[1]; }
  int64_t plane() const { return x.elements() / (examples() * channels()); }
  int64_t sets() const { return groups == 0 ? channels() : examples() * groups; }
};
/// Computes y, and mean and variance unless both are given.
void channel_norm(const ChannelNorm& io, const View& y);
/// Computes the gradients of channel_norm. Skips each output whose view is empty.
void channel_norm_backward(const ChannelNorm& io, const View& dy, const OutputView& dx,
                           const OutputView& dgamma, const OutputView& dbeta);

// --- softmax and losses

/// Computes y = x - log sum exp(x), row by row.
void log_softmax(const View& x, const View& y);
/// Computes dx = dy - exp(y) * sum(dy), row by row.
void log_softmax_backward(const View& y, const View& dy, const OutputView& dx);
/// Computes loss = -row_weight * sum_r log_probs(r, targets[r]), a float64 scalar: log_probs (n,
/// V), n targets. A row with target -1 does not count. Error: a target outside of [-1, V).
void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss);
/// Computes dlog_probs(r, targets[r]) -= row_weight * grad_output for each row r with a target >=
/// 0; grad_output is a float64 scalar.
void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs);
/// Computes y = -t log s(x) - (1 - t) log(1 - s(x)) by elements, where s is the logistic function:
/// max(x, 0) - x t + log(1 + e^-|x|). All of one shape.
void logistic_loss(const View& x, const View& t, const View& y);
/// Computes dx = dy (s(x) - t) and dt = -dy x. Skips each output whose view is empty.
void logistic_loss_backward(const View& x, const View& t, const View& dy, const OutputView& dx,
                            const OutputView& dt);

// --- optimisers
//
// Each update is one pass over parameters and gradients, which are contiguous slabs. Unless
// max_norm = 0, the update uses the gradient times min(1, max_norm / (sqrt(norm_squared) + 1e-6)),
// as PyTorch's clip_grad_norm_ does. The gradient's own memory does not change.

/// The settings of gradient clipping.
struct Clip {
  View norm_squared;    ///< float64 scalar from sum_squares()
  double max_norm = 0;  ///< 0: no clipping; negative: an Error
};
// The settings of one update: a struct for each rule. UpdateRule in core/update_rules.h has the
// formulas. kName is the rule's name in errors and profiles. kOperations is the number of
// operations for one weight. states() is the number of values that the rule keeps for each weight.

/// Adam (Kingma & Ba, 2015), with eps added to the root of v-hat. With `decoupled`: AdamW
/// (Loshchilov & Hutter, 2019). States: m and v, the running means of the gradient and of its
/// square.
struct AdamStep {
  static constexpr const char* kName = "adam";
  static constexpr double kOperations = 12;
  static constexpr size_t states() { return 2; }

  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;
  int64_t t = 1;  ///< 1 for the first update
};
/// SGD: u = momentum * u + g (+ weight_decay * w), w -= lr * u. State: u, unless momentum is 0.
struct SgdStep {
  static constexpr const char* kName = "sgd";
  static constexpr double kOperations = 4;
  size_t states() const { return momentum != 0 ? 1 : 0; }

  double lr = 1, momentum = 0, weight_decay = 0;
};
/// Lion (Chen et al., 2023): w = (1 - lr * weight_decay) w - lr * sign(beta1 m + (1 - beta1) g),
/// then m = beta2 m + (1 - beta2) g. State: m.
struct LionStep {
  static constexpr const char* kName = "lion";
  static constexpr double kOperations = 9;
  static constexpr size_t states() { return 1; }

  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};
/// The numbers of one update by any rule.
using UpdateStep = std::variant<AdamStep, SgdStep, LionStep>;

/// Updates the parameters w from their gradients g by the rule of `step`. `states` has step's
/// states() views, which are zeros before the first update. All views have one shape. ids: the
/// distinct rows of w to update, int32 on w's device; null: all rows.
void update(const View& w, const View& g, std::initializer_list<View> states, const View* ids,
            const Clip& clip, const UpdateStep& step);

/// Updates w by AdamStep; m and v are the states.
inline void adam(const View& w, const View& g, const View& m, const View& v, const Clip& clip,
                 const AdamStep& step) {
  update(w, g, {m, v}, nullptr, clip, step);
}
/// Updates the rows `ids` of w by AdamStep.
inline void adam_rows(const View& w, const View& g, const View& m, const View& v, const View& ids,
                      const Clip& clip, const AdamStep& step) {
  update(w, g, {m, v}, &ids, clip, step);
}
/// Updates w by SgdStep; u is the state, empty without momentum.
inline void sgd(const View& w, const View& g, const View& u, const Clip& clip,
                const SgdStep& step) {
  if (u) return update(w, g, {u}, nullptr, clip, step);
  update(w, g, {}, nullptr, clip, step);
}

/// Computes mean += weight * (w - mean): the running mean of averaged SGD (Polyak & Juditsky, 1992)
/// with weight = 1/n.
void average(const View& mean, const View& w, double weight);

}  // namespace nine::ops
