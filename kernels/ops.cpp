#include "kernels/ops.h"

#include <cmath>

#include "core/bf16_product.h"
#include "core/op_checks.h"
#include "core/profile.h"
#include "kernels/op_table.h"
#include "kernels/scores/all.h"

namespace nine::ops {

using namespace checks;
using profile::Scope;

namespace {
void check_spread(const HeadBlock& b, const char* op) {
  require(b.options.spread >= 0 && b.options.spread * static_cast<double>(b.words() - 1) <= 1, "[",
          op, "] a target probability of ", b.options.spread, " for each other word of ", b.words(),
          " (label smoothing) does not leave a distribution");
  require(b.options.spread == 0 || b.size() > 1 || b.score_sum, "[", op,
          "] label smoothing needs score_sum");
}
void check_pieces(const char* op, const View& x, int pieces, const View& out) {
  require(pieces >= 1 && pieces <= 3, "[", op, "] 1 to 3 pieces of a number, got ", pieces);
  require(x.dtype == DType::float32, "[", op, "] cuts float32 into pieces, got ", x.dtype);
  is_matrix(op, "the pieces", out, x.rows(), head_piece_columns(x.cols(), pieces));
  require(out.dtype == DType::bfloat16 && out.device == x.device, "[", op,
          "] pieces are bfloat16 on ", x.device, ", got ", out.dtype, " on ", out.device);
}
void check_head(const char* op, const HeadBlock& b) {
  require(!b.components.empty(), "[", op, "] needs a component");
  const int64_t rows = b.rows(), columns = b.size();
  int64_t planes = 0, kept = 0;
  for (const HeadComponent& c : b.components) {
    same_kind(op, b.h, {&c.w});
    require(b.h.cols() == c.w.cols(), "[", op, "] contexts of shape ", b.h.shape,
            " do not fit word vectors of shape ", c.w.shape);
    require(c.w.rows() == b.words(), "[", op, "] components have ", b.words(), " and ", c.w.rows(),
            " words");
    if (const int64_t size = head_stats_size(c.score, b.dims()); size > 0)
      is_matrix(op, "a component's statistics", c.stats, c.w.rows(), size);
    if (b.pieces > 0) check_pieces(op, c.w, b.pieces, c.pieces);
    planes += head_product_planes(c.score, b.dims());
    kept += head_score_planes(c.score);
  }
  same_kind(op, b.h, {&b.bias, &b.target_bias, &b.log_prior, &b.products, &b.scores});
  if (b.pieces > 0) check_pieces(op, b.h, b.pieces, b.h_pieces);
  require(b.words() > 0, "[", op, "] the vocabulary is empty");
  require(b.h.rows() == (columns == 1 ? rows : columns * b.padded_rows()), "[", op, "] ",
          b.h.rows(), " stacked contexts for ", columns, " components of ", rows, " rows");
  if (b.bias) has_elements(op, "the bias", b.bias, b.words());
  if (b.target_bias) has_elements(op, "the targets' bias", b.target_bias, b.words());
  are_indices(op, b.h, b.targets, rows);
  if (b.log_prior) is_matrix(op, "log_prior", b.log_prior, rows, columns);
  if (b.context_norm) has_elements(op, "context_norm", b.context_norm, columns);
  for (const View* v : {&b.row_factor, &b.row_loss}) {
    if (!*v) continue;
    has_elements(op, "a number of each row", *v, rows);
    require(v->dtype == DType::float64, "[", op, "] the numbers of each row must be float64, got ",
            v->dtype);
  }
  require(!b.options.margin || b.plain_score, "[", op, "] a margin needs plain_score");
  require(columns == 1 || b.log_prior, "[", op, "] a mixture needs log_prior");
  if (b.products)
    is_matrix(op, "the block of products", b.products, b.words(), planes * b.padded_rows());
  if (b.scores) is_matrix(op, "the block of scores", b.scores, b.words(), kept * b.padded_rows());
  for (const View* v : {&b.lse, &b.target_score, &b.plain_score, &b.score_sum, &b.share, &b.weight,
                        &b.target_slope}) {
    if (!*v) continue;
    has_elements(op, "a result of each row", *v, columns * rows);
    require(v->dtype == DType::float64, "[", op, "] the results of each row must be float64, got ",
            v->dtype);
  }
  check_spread(b, op);
}
double head_flops(const HeadBlock& b) {
  double whole = 0;  // C^2 products of d/C numbers cost as much as C of whole vectors
  for (const HeadComponent& c : b.components)
    whole += std::sqrt(static_cast<double>(head_product_planes(c.score, b.dims())));
  return 2.0 * whole * static_cast<double>(b.rows() * b.dims()) * static_cast<double>(b.words());
}
void check_stats(const char* op, const Score& score, const View& w, const View& stats) {
  same_kind(op, w, {});
  is_matrix(op, "the statistics", stats, w.rows(), head_stats_size(score, w.cols()));
  require(stats.dtype == DType::float64, "[", op, "] statistics must be float64, got ",
          stats.dtype);
}
}  // namespace

int64_t head_piece_columns(int64_t d, int pieces) {
  return std::ssize(bf16::pairs_of(pieces)) * bf16_ld(d);
}

int64_t head_stats_size(const Score& score, int64_t d) {
  int64_t size = 0;
  scores::visit_component(score, d, [&](const auto& k) {
    size = k.parts() * std::remove_cvref_t<decltype(k)>::kStats;
  });
  return size;
}

int64_t head_product_planes(const Score& score, int64_t d) {
  int64_t planes = 0;
  scores::visit_component(score, d, [&](const auto& k) { planes = k.parts() * k.parts(); });
  return planes;
}

// Kernels with statistics need exponentials, logarithms or divisions; other kernels cost almost
// nothing.
int64_t head_score_planes(const Score& score) {
  int64_t planes = 0;
  scores::visit_component(score, 1, [&](const auto& k) {
    planes = std::remove_cvref_t<decltype(k)>::kStats > 0 && score.kind != ScoreKind::scaled_lin;
  });
  return planes;
}

void head_stats(const Score& score, const View& w, const View& stats) {
  check_stats("head_stats", score, w, stats);
  Scope scope("head_stats", 2 * count(w), bytes(w, stats));
  head_op_table(w.device).head_stats(score, w, stats);
}

void head_stats_backward(const Score& score, const View& w, const View& stats, const View& dstats,
                         const View& dw) {
  check_stats("head_stats_backward", score, w, stats);
  check_stats("head_stats_backward", score, w, dstats);
  same_kind("head_stats_backward", w, {&dw});
  same_shape("head_stats_backward", "w", w, "dw", dw);
  Scope scope("head_stats_backward", 2 * count(w), bytes(w, dw, dw));
  head_op_table(w.device).head_stats_backward(score, w, stats, dstats, dw);
}

void head_pieces(const View& x, int pieces, bool left, const View& out) {
  check_pieces("head_pieces", x, pieces, out);
  Scope scope("head_pieces", count(x), bytes(x, out));
  head_op_table(x.device).head_pieces(x, pieces, left, out);
}

void head_scores(const HeadBlock& block, Arena& arena) {
  check_head("head_scores", block);
  Scope scope("head_scores", head_flops(block),
              bytes(block.h, block.components.front().w, block.products, block.scores));
  head_op_table(block.h.device).head_scores(block, arena);
}

void head_loss(const HeadBlock& block, double row_weight, const View& nll_out,
               const OutputView& loss, const View& dlogits, Arena& arena) {
  check_head("head_loss", block);
  has_elements("head_loss", "nll", nll_out, block.rows());
  is_double_scalar("head_loss", block.h, "the loss", loss.view);
  if (dlogits) is_matrix("head_loss", "dlogits", dlogits, block.rows(), block.size());
  Scope scope("head_loss", 20 * count(block.lse), 5 * bytes(block.lse));
  head_op_table(block.h.device).head_loss(block, row_weight, nll_out, loss, dlogits, arena);
}

void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena) {
  check_head("head_gradients", block);
  same_kind("head_gradients", block.h, {&g.dh, &g.dbias.view});
  require(g.dw.size() == block.components.size() && g.dstats.size() == block.components.size(),
          "[head_gradients] needs one weight gradient for each component");
  for (const OutputView& dw : g.dw) {
    same_kind("head_gradients", block.h, {&dw.view});
    if (dw.view) same_shape("head_gradients", "w", block.components.front().w, "dw", dw.view);
  }
  if (g.dh) same_shape("head_gradients", "h", block.h, "dh", g.dh);
  if (g.dbias.view) has_elements("head_gradients", "dbias", g.dbias.view, block.words());
  Scope scope(
      "head_gradients", (block.products ? 2 : 3) * head_flops(block),
      2 * bytes(block.products) + bytes(block.scores, block.h, block.components.front().w) * 2);
  head_op_table(block.h.device).head_gradients(block, row_weight, g, arena);
}

void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena) {
  check_head("head_inference", block);
  if (log_probs)
    has_elements("head_inference", "log_probs", log_probs, block.rows() * block.words());
  if (scores)
    has_elements("head_inference", "scores", scores, block.size() * block.rows() * block.words());
  Scope scope("head_inference", head_flops(block), bytes(log_probs, scores));
  head_op_table(block.h.device).head_inference(block, log_probs, scores, arena);
}

namespace {
void are_doubles(const char* op, const char* what, const View& v, int64_t elements) {
  has_elements(op, what, v, elements);
  require(v.dtype == DType::float64, "[", op, "] ", what, " must be float64, got ", v.dtype);
}
}  // namespace

void row_norms(const View& x, const View& norms) {
  same_kind("row_norms", x, {});
  are_doubles("row_norms", "norms", norms, x.rows());
  Scope scope("row_norms", 2 * count(x), bytes(x));
  head_op_table(x.device).row_norms(x, norms);
}

void largest_norm(const View& norms, const View& targets, const View& largest, const View& row) {
  are_doubles("largest_norm", "norms", norms, targets.elements());
  are_doubles("largest_norm", "largest", largest, 1);
  require(norms.elements() > 0, "[largest_norm] there are no norms");
  are_indices("largest_norm", norms, targets, norms.elements());
  are_indices("largest_norm", norms, row, 1);
  Scope scope("largest_norm", count(norms), bytes(norms, targets));
  head_op_table(norms.device).largest_norm(norms, targets, largest, row);
}

void update_running_norm(const View& largest, double decay, const View& running) {
  are_doubles("update_running_norm", "largest", largest, 1);
  are_doubles("update_running_norm", "running", running, 1);
  Scope scope("update_running_norm", 2, bytes(largest, running));
  head_op_table(largest.device).update_running_norm(largest, decay, running);
}

void running_norm(const View& running, const View& size) {
  are_doubles("running_norm", "running", running, 1);
  are_doubles("running_norm", "size", size, 1);
  Scope scope("running_norm", 1, bytes(running, size));
  head_op_table(running.device).running_norm(running, size);
}

void set_norms(const View& x, const View& norms, const View& size, const View& y) {
  same_kind("set_norms", x, {&y});
  same_shape("set_norms", "x", x, "y", y);
  are_doubles("set_norms", "norms", norms, x.rows());
  are_doubles("set_norms", "size", size, 1);
  Scope scope("set_norms", count(x), bytes(x, y));
  head_op_table(x.device).set_norms(x, norms, size, y);
}

void set_norms_backward(const View& x, const View& norms, const View& size, const View& dy,
                        const View& dx, const View& dsize) {
  same_kind("set_norms_backward", x, {&dy, &dx});
  same_shape("set_norms_backward", "x", x, "dy", dy);
  same_shape("set_norms_backward", "x", x, "dx", dx);
  are_doubles("set_norms_backward", "norms", norms, x.rows());
  are_doubles("set_norms_backward", "size", size, 1);
  are_doubles("set_norms_backward", "dsize", dsize, x.rows());
  Scope scope("set_norms_backward", 5 * count(x), bytes(x, dy, dx));
  head_op_table(x.device).set_norms_backward(x, norms, size, dy, dx, dsize);
}

void word_scales(const View& norms, const View& ratios, int64_t first, const View& stats) {
  are_doubles("word_scales", "norms", norms, ratios.elements());
  are_doubles("word_scales", "ratios", ratios, norms.elements());
  are_doubles("word_scales", "stats", stats, 2 * norms.elements());
  require(first < norms.elements(), "[word_scales] there is no word ", first);
  Scope scope("word_scales", 2 * count(norms), bytes(norms, ratios, stats));
  head_op_table(norms.device).word_scales(norms, ratios, first, stats);
}

void word_scales_backward(const View& w, const View& norms, const View& ratios, int64_t first,
                          const View& stats, const View& dstats, const View& dw) {
  same_kind("word_scales_backward", w, {&dw});
  same_shape("word_scales_backward", "w", w, "dw", dw);
  for (const View* v : {&norms, &ratios})
    are_doubles("word_scales_backward", "norms and ratios", *v, w.rows());
  for (const View* v : {&stats, &dstats})
    are_doubles("word_scales_backward", "the statistics", *v, 2 * w.rows());
  require(first < w.rows(), "[word_scales_backward] there is no word ", first);
  Scope scope("word_scales_backward", 2 * count(w), bytes(w, dw, dw));
  head_op_table(w.device).word_scales_backward(w, norms, ratios, first, stats, dstats, dw);
}

void prior_penalty(PriorPenalty kind, double strength, const View& log_prior, const View& targets,
                   double row_weight, const View& loss, const View& dlogits) {
  same_kind("prior_penalty", log_prior, {&dlogits});
  are_indices("prior_penalty", log_prior, targets, log_prior.rows());
  is_double_scalar("prior_penalty", log_prior, "the loss", loss);
  if (dlogits) same_shape("prior_penalty", "log_prior", log_prior, "dlogits", dlogits);
  Scope scope("prior_penalty", 8 * count(log_prior), 2 * bytes(log_prior));
  head_op_table(log_prior.device)
      .prior_penalty(kind, strength, log_prior, targets, row_weight, loss, dlogits);
}

void row_norm_penalty(const View& x, double norm, const OutputView& out) {
  same_kind("row_norm_penalty", x, {});
  is_double_scalar("row_norm_penalty", x, "the sum", out.view);
  Scope scope("row_norm_penalty", 2 * count(x), bytes(x));
  head_op_table(x.device).row_norm_penalty(x, norm, out);
}

void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx) {
  same_kind("row_norm_penalty_backward", x, {&dx.view});
  same_shape("row_norm_penalty_backward", "x", x, "dx", dx.view);
  is_double_scalar("row_norm_penalty_backward", x, "grad_output", grad_output);
  Scope scope("row_norm_penalty_backward", 4 * count(x), 3 * bytes(x));
  head_op_table(x.device).row_norm_penalty_backward(x, norm, factor, grad_output, dx);
}

}  // namespace nine::ops
