// The op list: every operation of the engine on plain views, declared once. A call checks shapes
// and types here, counts its cost, and runs the implementation of the views' device
// (core/op_table.h): core/cpu/ or cuda/.
//
// Conventions. A view is seen as a matrix (rows x cols, leading dimension); unless said otherwise
// the views of a call share one float type, float32 or float64, and one device. `OutputView`
// arguments are written or added to, as the sink says. Sums have a fixed order: the same bits with
// any number of threads. Index views (`ids`, `targets`) are int32.
#pragma once

#include <span>

#include "core/arena.h"
#include "core/random.h"
#include "core/scores/score.h"
#include "core/tensor.h"

namespace nine::ops {

// --- memory
// -----------------------------------------------------------------------------------------------------

/// y = value, any dtype.
void fill(const View& y, double value);
/// y = x, same shape; converts between float32, float64 and bfloat16.
void copy(const View& x, const View& y);
/// Whether no element is NaN or infinite (float32, float64). Waits for the device.
bool all_finite(const View& x);

// --- elementwise
// ------------------------------------------------------------------------------------------------

enum class Unary : uint8_t { neg, exp, log, tanh, sigmoid, relu, square };
/// y = f(x), same shape.
void unary(Unary f, const View& x, const OutputView& y);
/// dx = dy * f'(x), given x and y = f(x).
void unary_backward(Unary f, const View& x, const View& y, const View& dy, const OutputView& dx);

enum class Binary : uint8_t { add, sub, mul, div };
/// y = a op b. b has a's shape, or is one row (rank 1, a.cols() elements) that meets every row of
/// a, or one number (rank 0) that meets every element.
void binary(Binary f, const View& a, const View& b, const OutputView& y);
/// y = alpha * x, same shape.
void scale(double alpha, const View& x, const OutputView& y);

// --- reductions
// -------------------------------------------------------------------------------------------------

/// y[c] = sum over rows of x(r, c); y has x.cols() elements.
void column_sums(const View& x, const OutputView& y);
/// y = sum of all elements; y is a scalar.
void sum(const View& x, const OutputView& y);
/// out = sum of squares in float64 whatever x's type; out is a float64 scalar.
void sum_squares(const View& x, const View& out);

// --- products
// ---------------------------------------------------------------------------------------------------

/// c = alpha * op(a) op(b), op being the transpose where asked. c (m, n), op(a) (m, k), op(b) (k,
/// n); a tensor of higher rank is the matrix of its rows.
void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha = 1.0);

/// y = x w' + bias, with relu the larger of that and 0; x (n, in), w (out, in), bias (out), y (n,
/// out).
void linear(const View& x, const View& w, const View& bias, bool relu, const View& y);

// --- layers
// -----------------------------------------------------------------------------------------------------

/// y(r, :) = table(ids[r], :). ids outside of [0, table.rows()) are an error.
void embedding(const View& table, const View& ids, const View& y);
/// The input of a Transformer: y(r, :) = scale * table(ids[r], :) + positions(r mod steps, :); rows
/// are b * steps + t, and positions has `steps` rows.
void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y);
/// table_grad(ids[r], :) += dy(r, :), rows in ascending order of r.
void embedding_backward(const View& dy, const View& ids, const View& table_grad);

/// y = x * m / (1 - p), m = 1 where the key's uniform number is >= p. Backward is the same call on
/// dy. With mask_rows the mask has that many rows only and row r meets its row r mod mask_rows:
/// with batch rows a time step, one mask for all time steps (variational dropout; Gal & Ghahramani,
/// 2016).
void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows = 0);
/// y(r, :) = x(r, :) * m(ids[r]) / (1 - p): whole words are dropped, all rows of one id together
/// (Gal & Ghahramani, 2016; embedding dropout of Merity et al., 2018). m(v) = 1 where the key's
/// uniform number v is >= p; no id may be negative. Backward is the same call on dy.
void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y);
/// The end of a residual branch: y = residual + dropout(x + bias), bias one row; dropout's mask is
/// that of dropout() with the same p and key, which is therefore its backward. y may be x or
/// residual.
void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y);

/// y = (x - mean) * rstd * gamma + beta over the last dimension (Ba et al., 2016); variance divides
/// by cols; mean and rstd (one number a row, x's dtype) are kept for backward.
void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd);
/// Gradients of layer_norm; any sink without memory is skipped.
void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta);

/// One layer of LSTM over a whole sequence (Hochreiter & Schmidhuber, 1997, in PyTorch's form):
/// with
///   [i f g o] = x_t W_ih' + b_ih + h_{t-1} W_hh' + b_hh,  c_t = s(f) c_{t-1} + s(i) tanh(g),  h_t
///   = s(o) tanh(c_t).
/// T steps, batch B, input size I, hidden size H; rows of x and gates are t * B + b.
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
void lstm(const Lstm& io, Arena& arena);
/// Upstream gradients (dy, and those of the last state; empty views count as zero) and where the
/// gradients go (sinks without memory are skipped). Overwrites io.gates with the gradients of the
/// gates before their non-linearity.
struct LstmGradients {
  View dy;          ///< (T*B, H): of h_1 ... h_T
  View dh_n, dc_n;  ///< (B, H)
  OutputView dx, dw_ih, dw_hh, db_ih, db_hh, dh0, dc0;
};
void lstm_backward(const Lstm& io, const LstmGradients& g, Arena& arena);

/// Multi-head scaled dot-product attention (Vaswani et al., 2017, section 3.2). For each batch
/// element and head, which is a window of `size` columns of every matrix,
///   y = softmax(q k' / sqrt(size)) v  over the keys that a query may see.
/// A query that may see none has y = 0. Nothing of size queries x keys is kept: backward computes
/// the scores again from lse. One query a batch element against cached keys, of which `lengths`
/// tells how many there are, is a step of decoding; so are several beams, as the queries of one
/// batch element, against the memory of the sentence that they share.
struct Attention {
  View q;     ///< (batch * queries, heads * size), rows b * queries + t; may be columns of a wider
              ///< matrix, as k and v
  View k, v;  ///< (batch * keys, heads * size), rows b * keys + s
  View y;     ///< out, as q
  View lse;   ///< out (batch * heads, queries): log sum over keys of e^score; infinity where no key
              ///< is seen
  View lengths;  ///< (batch) int32: keys from there on are padding and never read; empty: none is
  int64_t batch = 1;
  int64_t heads = 1;
  bool causal = false;  ///< query t sees keys 0 ... t only; as many queries as keys

  int64_t queries() const { return q.rows() / batch; }
  int64_t keys() const { return k.rows() / batch; }
  int64_t size() const { return q.cols() / heads; }
  double flops() const {
    return 4.0 * static_cast<double>(q.elements()) * static_cast<double>(keys());
  }  ///< without masks
};
void attention(const Attention& io);
/// The upstream gradient of y, and where gradients go (sinks without memory are skipped).
struct AttentionGradients {
  View dy;
  OutputView dq, dk, dv;
};
void attention_backward(const Attention& io, const AttentionGradients& g);

// --- softmax and losses
// -----------------------------------------------------------------------------------------

/// y = x - log sum exp(x), row by row.
void log_softmax(const View& x, const View& y);
/// dx = dy - exp(y) * sum(dy), row by row.
void log_softmax_backward(const View& y, const View& dy, const OutputView& dx);
/// loss = -row_weight * sum_r log_probs(r, targets[r]), a float64 scalar; a target of -1 counts
/// nothing.
void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss);
/// d log_probs(r, targets[r]) -= row_weight * upstream (a float64 scalar).
void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs);

/// One block of rows of the kernel softmax (heads.md, sections 2 and 3): R rows of contexts, V
/// words, K components with scores S_k(v, r) = S_k(w_kv, h_kr) + b_v. A component's contexts are
/// panels of kHeadPanel rows and those of all components are stacked, so that components that share
/// their word vectors share each product. P is R rounded up to whole panels. The vocabulary is cut
/// into kHeadChunks chunks whatever the threads.
inline constexpr int64_t kHeadPanel = 32;  ///< rows of contexts that lie together
inline constexpr int64_t kHeadTile = 64;   ///< words of a tile
inline constexpr int64_t kHeadChunks =
    16;  ///< parts of the vocabulary with a partial sum of their own

struct HeadComponent {
  Score score;
  View w;      ///< (V, d); components that share word vectors have the same view
  View stats;  ///< (V, head_stats_size) float64 from head_stats: what the kernel needs of each
               ///< word; empty when that is none
};
/// Label smoothing (Szegedy et al., 2016) is a target distribution t that gives every word but the
/// target `spread`, and the target the rest, 1 - (V - 1) * spread. The mixture's posteriors: p =
/// sum_k pi_k p_k, gamma_k(v) = pi_k p_k(v) / p(v).
struct HeadBlock {
  std::span<const HeadComponent> components;
  View h;     ///< K = 1: (R, d); otherwise (K * P, d), component after component, padding rows zero
  View bias;  ///< (V), or empty; of all components
  View targets;       ///< (R) int32; -1: no target, the row's gradient is zero
  View log_prior;     ///< (R, K): log pi; empty: a single component
  double spread = 0;  ///< label smoothing, 0: none
  View products;  ///< (V, head_product_planes * P): the products z by word, rows fastest; empty:
                  ///< computed again when needed
  /// (V, C * P): scores with bias, laid out as products, of the C components whose
  /// head_score_planes is 1; empty: computed again when needed
  View scores;
  View lse;           ///< (K, R) float64: log sum_v exp S_k(v, r)
  View target_score;  ///< (K, R) float64: S_k(target, r), computed from the vectors; undefined
                      ///< where the target is -1
  View score_sum;  ///< (K, R) float64: sum_v S_k(v, r); needed with K = 1 and smoothing, else may
                   ///< be empty
  View share;  ///< (K, R) float64: gamma_k(target), what component k has in the target's posterior;
               ///< 0 without target
  View weight;  ///< (K, R) float64: R_k = sum_v t_v gamma_k(v), times the row's weight; 0 without
                ///< target
  View target_slope;      ///< (K, R) float64: dL/dS_k(target, r); 0 without target
  int64_t first_row = 0;  ///< the block's first row among all contexts, for messages

  int64_t size() const { return static_cast<int64_t>(components.size()); }
  int64_t rows() const { return targets.elements(); }
  int64_t padded_rows() const { return (rows() + kHeadPanel - 1) / kHeadPanel * kHeadPanel; }
  int64_t words() const { return components.front().w.rows(); }
  int64_t dims() const { return h.cols(); }
};
/// How many numbers a vector's statistics are, and how many products a pair of vectors has (mog:
/// C^2), for vectors of d.
int64_t head_stats_size(const Score& score, int64_t d);
int64_t head_product_planes(const Score& score, int64_t d);
/// How many scores of a pair are worth keeping: 1, or 0 where they cost less to compute again.
int64_t head_score_planes(const Score& score);
/// stats (V, head_stats_size) float64 of the rows of w.
void head_stats(const Score& score, const View& w, const View& stats);
/// dw += dstats * d stats / d w, row by row.
void head_stats_backward(const Score& score, const View& w, const View& stats, const View& dstats,
                         const View& dw);
/// Fills products, scores and score_sum (unless empty), lse and target_score. Scores are the CPU's:
/// a card leaves them as they are.
void head_scores(const HeadBlock& block, Arena& arena);
/// The mixture and the loss, from what head_scores left. nll[r] = -log p(target), 0 where there is
/// no target; loss = row_weight * sum over rows with a target of -sum_v t_v log p_v. Fills share,
/// weight and target_slope. dlogits (R, K), unless empty: the loss's gradient by the prior's
/// logits, row_weight * (pi_k - R_k). nll and loss are float64.
void head_loss(const HeadBlock& block, double row_weight, const View& nll, const OutputView& loss,
               const View& dlogits, Arena& arena);
/// Where head_gradients puts the gradients of head_loss's loss; sinks without memory are skipped.
struct HeadGradients {
  View dh;  ///< shape of block.h, overwritten; padding rows are left
  std::span<const OutputView>
      dw;  ///< one a component; those that share word vectors share the sink
  std::span<const View>
      dstats;  ///< one a component, added to: the gradient by the words' statistics
  OutputView dbias;
};
/// Overwrites block.products.
void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena);
/// What the block's rows say of every word: log_probs (R, V) float64 of the mixture; scores (K, R,
/// V) float64 with bias. Either may be empty. From what head_scores left; a row's target has its
/// exact score.
void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena);

/// A penalty on the prior over components (heads.md section 2): variance: mean over rows of
/// Var_k(pi_k); cv2: Var_k(s)/mean(s)^2, s_k = sum over rows of pi_k (after Takase et al., 2018).
/// Variances divide by K; rows without a target do not count.
enum class PriorPenalty : uint8_t { variance, cv2 };
/// loss += row_weight * rows * strength * penalty, `rows` those with a target; dlogits (N, K),
/// unless empty, += its gradient by the logits of log_prior (N, K). loss is a float64 scalar.
void prior_penalty(PriorPenalty kind, double strength, const View& log_prior, const View& targets,
                   double row_weight, const View& loss, const View& dlogits);
/// out = sum_r (|x_r| - norm)^2 over the rows of x, a float64 scalar.
void row_norm_penalty(const View& x, double norm, const OutputView& out);
/// dx = factor * upstream * 2 (|x_r| - norm) x_r / |x_r|, 0 where |x_r| = 0; upstream is a float64
/// scalar.
void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx);

// --- optimisers
// -------------------------------------------------------------------------------------------------
// All in one pass over parameters and gradients, which are contiguous slabs. The gradient is
// multiplied by min(1, clip / (sqrt(norm_squared) + 1e-6)) on the way (clip = 0: not at all), as
// PyTorch's clip_grad_norm_ does.

struct Clip {
  View norm_squared;  ///< float64 scalar from sum_squares
  double max_norm = 0;
};
/// Adam (Kingma & Ba, 2015), eps outside of the root of v-hat; decoupled = AdamW (Loshchilov &
/// Hutter, 2019).
struct AdamStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;
  int64_t t = 1;  ///< 1 for the first update
};
void adam(const View& w, const View& g, const View& m, const View& v, const Clip& clip,
          const AdamStep& step);
/// SGD: u = momentum * u + g (+ weight_decay * w), w -= lr * u. Without momentum `u` is empty.
struct SgdStep {
  double lr = 1, momentum = 0, weight_decay = 0;
};
void sgd(const View& w, const View& g, const View& u, const Clip& clip, const SgdStep& step);
/// mean += weight * (w - mean): the running mean of averaged SGD (Polyak & Juditsky, 1992) with
/// weight = 1/n.
void average(const View& mean, const View& w, double weight);

}  // namespace nine::ops
