// Declares the head's ops on plain views; conventions as in core/ops.h. A call checks shapes and
// types, counts its cost, and runs the implementation of the views' device (kernels/op_table.h),
// which is in the cpu/ or cuda/ directory of a folder.
#pragma once

#include <span>

#include "core/arena.h"
#include "core/tensor.h"
#include "kernels/options/angle.h"
#include "kernels/options/margin.h"
#include "kernels/options/prior_penalty.h"
#include "kernels/scores/score.h"

namespace nine::ops {

// --- the kernel softmax (docs/heads.md, sections 4 and 8)
//
// R rows of contexts, V words, K components with scores S_k(v, r) = S_k(w_kv, h_kr) + b_v. Rows are
// held in panels of kHeadPanel; P is R rounded up to whole panels. The panels of all components are
// stacked, so that components that share their word vectors share each matrix product. The
// vocabulary is cut into kHeadChunks chunks, for any number of threads.

/// Rows of contexts in a panel: one for each SIMD lane, or for each thread of a warp.
inline constexpr int64_t kHeadPanel = 32;
/// Returns the columns of vectors of d numbers in bfloat16: each vector begins at a multiple of 16
/// bytes, as fast products of bfloat16 ask for.
inline int64_t bf16_ld(int64_t d) { return (d + 7) / 8 * 8; }
/// Returns the columns of vectors of d numbers that head_pieces() has cut.
int64_t head_piece_columns(int64_t d, int pieces);
/// Words of a tile, the unit of work of the CPU's loops: this many words by one panel of rows.
inline constexpr int64_t kHeadTile = 64;
/// Number of chunks of the vocabulary; each chunk has its own partial sum.
inline constexpr int64_t kHeadChunks = 16;

/// One component of a head.
struct HeadComponent {
  Score score;
  View w;  ///< (V, d); components that share word vectors have the same view
  /// (V, head_stats_size) float64 from head_stats, or from word_scales for scaled_lin: the
  /// statistics of each word that the score function needs besides the product. Empty if it needs
  /// no statistics.
  View stats;
  /// (V, head_piece_columns) bfloat16: w from head_pieces(), as left factor; components that share
  /// word vectors share it. Empty unless the block has `pieces`.
  View pieces = {};
};

/// The options of the head (HeadConfig) that the loops over words and rows use.
struct HeadBlockOptions {
  /// Label smoothing (Szegedy et al., 2016); 0: no smoothing. The targets are a distribution t: t_v
  /// = spread for every word but the target, and 1 - (V - 1) * spread for the target.
  double spread = 0;
  Margin margin = {};  ///< on the targets' angles; inner products only
  /// Factor of the z-loss: each row's loss grows by z_loss times the mean over the components of
  /// lse^2.
  double z_loss = 0;
  /// The products for dW and dH leave out the tiles of kHeadTile words by one panel whose every
  /// |dL/dz|, divided by the row's weight, is below this limit; 0: they take all tiles. The other
  /// gradients, such as the bias's, are those of all tiles.
  double skip = 0;
};

/// One block of rows. t is the distribution of the targets (HeadBlockOptions). The mixture is p(v)
/// = sum_k pi_k p_k(v), where p_k is the softmax of component k's scores. Component k's share in a
/// word's probability is gamma_k(v) = pi_k p_k(v) / p(v).
struct HeadBlock {
  std::span<const HeadComponent> components;

  // Inputs.

  /// K = 1: (R, d). Otherwise (K * P, d), component after component, with padding rows of zeros.
  View h;
  View bias;  ///< (V), shared by all components; may be empty
  /// (V): replaces the bias in the targets' scores; empty: the bias.
  View target_bias;
  View targets;     ///< (R) int32; -1: no target, and the row has no gradient
  View log_prior;   ///< (R, K): log pi; empty for a single component
  View row_factor;  ///< (R) float64: multiplies a row's weight; empty: 1
  /// (K) float64: the norm G of each component's contexts (set_norms); empty: contexts keep their
  /// own norms.
  View context_norm;
  HeadBlockOptions options;
  /// CUDA multiplies float32 factors in so many bfloat16 pieces (core/bf16_product.h); 0: it
  /// multiplies float32. The CPU cuts factors itself.
  int pieces = 0;
  View h_pieces;  ///< h from head_pieces(), as right factor; empty without `pieces`

  // Kept from head_scores for head_gradients; head_gradients recomputes empty views.

  /// (V, head_product_planes of all components * P): products of words and rows. Row v holds the
  /// products of word v, row of contexts after row of contexts.
  View products;
  /// (V, C * P): scores with bias, in the same order, of the C components whose head_score_planes
  /// is 1. The CPU fills and uses it; CUDA recomputes scores.
  View scores;

  // Results, float64, (K, R).

  View lse;           ///< log sum_v exp S_k(v, r)
  View target_score;  ///< S_k(target, r), computed from the vectors; undefined without a target
  View plain_score;   ///< target_score without the margin; needed with a margin, else may be empty
  View score_sum;     ///< sum_v S_k(v, r); needed if K = 1 and spread > 0, else may be empty
  View share;         ///< gamma_k(target); 0 without a target
  /// The row's weight times (R_k + 2 z_loss lse_k / K), where R_k = sum_v t_v gamma_k(v); 0 without
  /// a target.
  View weight;
  View target_slope;  ///< dL/dS_k(target, r); 0 without a target
  /// (R) float64: the row's part of the loss before weights, 0 without a target; may be empty.
  View row_loss;

  int64_t first_row = 0;  ///< the block's first row in all contexts, for messages

  int64_t size() const { return static_cast<int64_t>(components.size()); }
  int64_t rows() const { return targets.elements(); }
  int64_t padded_rows() const { return (rows() + kHeadPanel - 1) / kHeadPanel * kHeadPanel; }
  int64_t words() const { return components.front().w.rows(); }
  int64_t dims() const { return h.cols(); }
  /// True if the targets are scored by their angle (kernels/options/angle.h): with a margin, or if
  /// vectors are given norms.
  bool by_angle() const {
    return options.margin || context_norm || components.front().score.kind == ScoreKind::scaled_lin;
  }
  /// Returns pointers to F of a word and G of component k, in a block that is by_angle(); null for
  /// a vector that keeps its own norm.
  scores::GivenNorms given_norms(int64_t k, int64_t word) const {
    const HeadComponent& c = components[static_cast<size_t>(k)];
    return {c.score.kind == ScoreKind::scaled_lin
                ? static_cast<const double*>(c.stats.data) + 2 * word + 1
                : nullptr,
            context_norm ? static_cast<const double*>(context_norm.data) + k : nullptr};
  }
};

/// Returns the number of statistics of a vector of d numbers.
int64_t head_stats_size(const Score& score, int64_t d);
/// Returns the number of products of a pair of vectors of d numbers: 1, or C^2 for a kernel of C
/// parts (mog).
int64_t head_product_planes(const Score& score, int64_t d);
/// Returns 1 if the scores of a block are worth keeping, 0 if recomputing them costs less.
int64_t head_score_planes(const Score& score);
/// Computes stats (V, head_stats_size), float64, of the rows of w.
void head_stats(const Score& score, const View& w, const View& stats);
/// Adds to dw, row by row, the gradient that dstats passes through the statistics to the rows of w.
void head_stats_backward(const Score& score, const View& w, const View& stats, const View& dstats,
                         const View& dw);
/// Cuts the float32 vectors of x (R, d) into 1 to 3 bfloat16 pieces, as left or right factor of
/// products. Row r of `out` (R, head_piece_columns) bfloat16 has, for each pair of
/// bf16::pairs_of(pieces), the piece of x_r that the pair takes of this factor, and zeros up to
/// bf16_ld(d) numbers. So one product of a left and a right `out` along their columns adds up all
/// pairs in order.
void head_pieces(const View& x, int pieces, bool left, const View& out);
/// Fills products and score_sum (unless empty), lse and target_score; on the CPU also scores
/// (unless empty). CUDA recomputes scores when they are needed.
void head_scores(const HeadBlock& block, Arena& arena);
/// Computes the mixture and the loss from the results of head_scores. nll[r] = -log p(target)
/// without the margin, 0 without a target. loss = the sum over rows with a target of the row's
/// weight times (-sum_v t_v log p_v + the z-loss). The row's weight is row_weight * row_factor[r].
/// Both are float64. Fills share, weight, target_slope and row_loss. dlogits (R, K), unless empty,
/// receives the loss's gradient with respect to the prior's logits, the row's weight times (pi_k -
/// R_k).
void head_loss(const HeadBlock& block, double row_weight, const View& nll, const OutputView& loss,
               const View& dlogits, Arena& arena);
/// The outputs of head_gradients: gradients of head_loss's loss. Outputs without memory are not
/// computed.
struct HeadGradients {
  View dh;  ///< shape of block.h, overwritten, except padding rows, which stay as they are
  std::span<const OutputView> dw;  ///< of each component; shared word vectors share an output
  std::span<const View> dstats;    ///< of each component: added to, dL/d(the words' statistics)
  OutputView dbias;
  /// (K, R) float64, overwritten: dL/d(context_norm) of each row through its target's score alone.
  /// dh contains the part through the other scores.
  View dcontext_norm = {};
  /// Float64, one element for each learned number of each component's score, in the order of
  /// components and numbers; added to: dL/d(number).
  View dnumbers = {};
  /// (4) float64, added to: tiles that HeadBlockOptions::skip left out, all tiles, the sum of
  /// |dL/dz| of the former and of the latter. May be empty.
  View left_out = {};
};
/// Computes the gradients from the results of head_scores and head_loss. Overwrites block.products.
void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena);
/// Computes, from the results of head_scores, log_probs (R, V) float64 of the mixture and scores
/// (K, R, V) float64 with bias of every word, for decoding and inspection. Either view may be
/// empty. The score of a row's target is the exact one, target_score.
void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena);

// --- norms of word vectors and contexts (kernels/options/head_norms.h, docs/margins.md)
//
// norms, ratios, sizes and similar views are float64; `size` and other scalars have one element.

/// Computes norms[r] = |x_r| for the rows of a matrix.
void row_norms(const View& x, const View& norms);
/// Computes largest = the largest norm of the rows that have a target, or of all rows if no row has
/// a target; row (int32) = the first row with that norm.
void largest_norm(const View& norms, const View& targets, const View& largest, const View& row);
/// Updates a running norm: running = max(running, largest) if decay = 0, and otherwise decay *
/// running + (1 - decay) * largest. If running is 0, sets running = largest.
void update_running_norm(const View& largest, double decay, const View& running);
/// Computes size = running, or 1 if running is 0, which means that training has seen no row.
void running_norm(const View& running, const View& size);
/// Computes y_r = size x_r / |x_r|, 0 where |x_r| = 0.
void set_norms(const View& x, const View& norms, const View& size, const View& y);
/// Computes dx_r = (size / |x_r|) (dy_r - (u . dy_r) u) and dsize[r] = u . dy_r, where u = x_r /
/// |x_r|; both are 0 where |x_r| = 0. dy may be dx's memory.
void set_norms_backward(const View& x, const View& norms, const View& size, const View& dy,
                        const View& dx, const View& dsize);
/// Fills stats (V, 2) of scaled_lin with F_v / |w_v|, 0 where |w_v| = 0, and F_v. F_v = ratios[v]
/// if first < 0; otherwise F_v = ratios[v] |w_first|.
void word_scales(const View& norms, const View& ratios, int64_t first, const View& stats);
/// Adds to dw the gradient through F_v / |w_v| for a fixed F_v. If first >= 0, also adds the
/// gradient of all F_v through |w_first|.
void word_scales_backward(const View& w, const View& norms, const View& ratios, int64_t first,
                          const View& stats, const View& dstats, const View& dw);

// --- regularisers

/// Adds row_weight * n * strength * penalty to loss, a float64 scalar, where n is the number of
/// rows with a target. Adds the gradient with respect to the logits of log_prior (N, K) to dlogits
/// (N, K), unless dlogits is empty.
void prior_penalty(PriorPenalty kind, double strength, const View& log_prior, const View& targets,
                   double row_weight, const View& loss, const View& dlogits);
/// Computes out = sum_r (|x_r| - norm)^2 over the rows of x, a float64 scalar.
void row_norm_penalty(const View& x, double norm, const OutputView& out);
/// Computes dx_r = factor * grad_output * 2 (|x_r| - norm) x_r / |x_r|, 0 where |x_r| = 0;
/// grad_output is a float64 scalar.
void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx);

}  // namespace nine::ops
