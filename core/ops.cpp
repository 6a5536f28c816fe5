// Checks, costs and dispatch of the op list.
#include "core/ops.h"

#include <algorithm>
#include <cmath>

#include "core/op_table.h"
#include "core/profile.h"
#include "core/scores/all.h"

namespace nine::ops {
namespace {

using profile::Scope;

double count(const View& v) { return static_cast<double>(v.elements()); }

template <class... Views>
double bytes(const Views&... views) {
  return static_cast<double>((views.bytes() + ...));
}

void same_shape(const char* op, const char* what_a, const View& a, const char* what_b,
                const View& b) {
  require(a.shape == b.shape, "[", op, "] ", what_a, " has shape ", a.shape, " but ", what_b,
          " has shape ", b.shape);
}

// Every further view shares the first one's float type and device; empty views are passed over.
void same_kind(const char* op, const View& first, std::initializer_list<const View*> others) {
  require(first.dtype == DType::float32 || first.dtype == DType::float64, "[", op,
          "] needs float32 or float64, got ", first.dtype);
  for (const View* v : others) {
    if (!*v) continue;
    require(v->dtype == first.dtype, "[", op, "] mixes ", first.dtype, " and ", v->dtype);
    require(v->device == first.device, "[", op, "] mixes ", first.device, " and ", v->device);
  }
}

void has_elements(const char* op, const char* what, const View& v, int64_t n) {
  require(v.elements() == n && v.contiguous(), "[", op, "] ", what, " must be ", n,
          " contiguous elements, got shape ", v.shape);
}

void is_matrix(const char* op, const char* what, const View& v, int64_t rows, int64_t cols) {
  require(v.rows() == rows && v.cols() == cols, "[", op, "] ", what, " must be (", rows, ", ", cols,
          "), got ", v.shape);
}

void same_device(const char* op, const View& a, const View& b) {
  require(a.device == b.device, "[", op, "] mixes ", a.device, " and ", b.device);
}

// n indices beside `data`.
void are_indices(const char* op, const View& data, const View& ids, int64_t n) {
  require(ids.dtype == DType::int32, "[", op, "] indices must be int32, got ", ids.dtype);
  same_device(op, data, ids);
  has_elements(op, "the index tensor", ids, n);
}

void is_double_scalar(const char* op, const View& data, const char* what, const View& v) {
  same_device(op, data, v);
  require(v.dtype == DType::float64 && v.elements() == 1, "[", op, "] ", what,
          " must be a float64 scalar, got ", v.dtype, " ", v.shape);
}

}  // namespace

void fill(const View& y, double value) {
  Scope scope("fill", 0, bytes(y));
  op_table(y.device).fill(y, value);
}

void copy(const View& x, const View& y) {
  same_shape("copy", "x", x, "y", y);
  require((x.dtype == DType::int32) == (y.dtype == DType::int32), "[copy] ", x.dtype, " to ",
          y.dtype, " is not a conversion of this op");
  Scope scope("copy", 0, bytes(x, y));
  if (x.device == y.device && x.dtype != y.dtype) return op_table(y.device).convert(x, y);
  if (x.dtype != y.dtype) {
    // Between devices bytes travel as they are: convert on the CPU's side.
    const bool down = y.device.kind == DeviceKind::cpu;
    const Tensor staged(x.shape, down ? x.dtype : y.dtype);
    copy(x, staged);
    return copy(staged, y);
  }
  op_table(x.device.kind == DeviceKind::cpu ? y.device : x.device).copy(x, y);
}

bool all_finite(const View& x) {
  Scope scope("all_finite", count(x), bytes(x));
  return op_table(x.device).all_finite(x);
}

void unary(Unary f, const View& x, const OutputView& y) {
  same_shape("unary", "x", x, "y", y.view);
  same_kind("unary", x, {&y.view});
  Scope scope("unary", count(x), bytes(x, y.view));
  op_table(x.device).unary(f, x, y);
}

void unary_backward(Unary f, const View& x, const View& y, const View& dy, const OutputView& dx) {
  same_shape("unary_backward", "x", x, "y", y);
  same_shape("unary_backward", "x", x, "dx", dx.view);
  same_shape("unary_backward", "y", y, "dy", dy);
  same_kind("unary_backward", x, {&y, &dy, &dx.view});
  Scope scope("unary_backward", 2 * count(x), bytes(x, y, dy, dx.view));
  op_table(x.device).unary_backward(f, x, y, dy, dx);
}

void binary(Binary f, const View& a, const View& b, const OutputView& y) {
  require(
      b.shape == a.shape || b.shape.rank() == 0 || (b.shape.rank() == 1 && b.cols() == a.cols()),
      "[binary] shapes ", a.shape, " and ", b.shape,
      " neither agree nor is the second a number or one row of the first");
  same_shape("binary", "a", a, "y", y.view);
  same_kind("binary", a, {&b, &y.view});
  Scope scope("binary", count(a), bytes(a, b, y.view));
  op_table(a.device).binary(f, a, b, y);
}

void scale(double alpha, const View& x, const OutputView& y) {
  same_shape("scale", "x", x, "y", y.view);
  same_kind("scale", x, {&y.view});
  Scope scope("scale", count(x), bytes(x, y.view));
  op_table(x.device).scale(alpha, x, y);
}

void column_sums(const View& x, const OutputView& y) {
  same_kind("column_sums", x, {&y.view});
  has_elements("column_sums", "y", y.view, x.cols());
  Scope scope("column_sums", count(x), bytes(x));
  op_table(x.device).column_sums(x, y);
}

void sum(const View& x, const OutputView& y) {
  same_kind("sum", x, {&y.view});
  has_elements("sum", "y", y.view, 1);
  Scope scope("sum", count(x), bytes(x));
  op_table(x.device).sum(x, y);
}

void sum_squares(const View& x, const View& out) {
  same_kind("sum_squares", x, {});
  is_double_scalar("sum_squares", x, "the result", out);
  Scope scope("sum_squares", 2 * count(x), bytes(x));
  op_table(x.device).sum_squares(x, out);
}

void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha) {
  same_kind("matmul", a, {&b, &c.view});
  const int64_t m = transpose_a ? a.cols() : a.rows(), k = transpose_a ? a.rows() : a.cols();
  const int64_t inner = transpose_b ? b.cols() : b.rows(), n = transpose_b ? b.rows() : b.cols();
  require(k == inner, "[matmul] inner dimensions differ: ", a.shape, transpose_a ? "' x " : " x ",
          b.shape, transpose_b ? "'" : "");
  is_matrix("matmul", "the result", c.view, m, n);
  Scope scope("matmul",
              2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
              bytes(a, b, c.view));
  op_table(a.device).matmul(a, transpose_a, b, transpose_b, c, alpha);
}

void linear(const View& x, const View& w, const View& bias, bool relu, const View& y) {
  same_kind("linear", x, {&w, &bias, &y});
  require(x.cols() == w.cols(), "[linear] an input of shape ", x.shape,
          " does not fit weights of shape ", w.shape);
  is_matrix("linear", "the result", y, x.rows(), w.rows());
  has_elements("linear", "the bias", bias, w.rows());
  Scope scope("linear", 2.0 * count(x) * static_cast<double>(w.rows()), bytes(x, w, y));
  op_table(x.device).linear(x, w, bias, relu, y);
}

void embedding(const View& table, const View& ids, const View& y) {
  same_kind("embedding", table, {&y});
  are_indices("embedding", table, ids, y.rows());
  require(y.cols() == table.cols(), "[embedding] a table of shape ", table.shape,
          " does not fill rows of ", y.shape);
  Scope scope("embedding", 0, 2 * bytes(y));
  op_table(table.device).embedding(table, ids, y);
}

void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y) {
  same_kind("embedding_with_positions", table, {&positions, &y});
  are_indices("embedding_with_positions", table, ids, y.rows());
  require(y.cols() == table.cols() && y.cols() == positions.cols(),
          "[embedding_with_positions] a table of shape ", table.shape, " and positions of shape ",
          positions.shape, " do not fill rows of ", y.shape);
  require(y.rows() == 0 || (positions.rows() > 0 && y.rows() % positions.rows() == 0),
          "[embedding_with_positions] ", y.rows(), " rows are no whole sentences of ",
          positions.rows(), " positions");
  Scope scope("embedding_with_positions", 2 * count(y), 3 * bytes(y));
  op_table(table.device).embedding_with_positions(table, ids, scale, positions, y);
}

void embedding_backward(const View& dy, const View& ids, const View& table_grad) {
  same_kind("embedding_backward", dy, {&table_grad});
  are_indices("embedding_backward", dy, ids, dy.rows());
  require(dy.cols() == table_grad.cols(), "[embedding_backward] rows of ", dy.shape,
          " do not fit a table of ", table_grad.shape);
  Scope scope("embedding_backward", count(dy), 3 * bytes(dy));
  op_table(dy.device).embedding_backward(dy, ids, table_grad);
}

void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows) {
  same_shape("dropout", "x", x, "y", y.view);
  same_kind("dropout", x, {&y.view});
  require(p >= 0 && p < 1, "[dropout] the probability must be in [0, 1), not ", p);
  require(mask_rows >= 0, "[dropout] a mask cannot have ", mask_rows, " rows");
  Scope scope("dropout", 10 * count(x), bytes(x, y.view));
  op_table(x.device).dropout(x, p, key, y,
                             mask_rows > 0 ? mask_rows : std::max<int64_t>(1, x.rows()));
}

void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y) {
  same_shape("dropout_words", "x", x, "y", y.view);
  same_kind("dropout_words", x, {&y.view});
  are_indices("dropout_words", x, ids, x.rows());
  require(p >= 0 && p < 1, "[dropout_words] the probability must be in [0, 1), not ", p);
  Scope scope("dropout_words", count(x), bytes(x, y.view));
  op_table(x.device).dropout_words(x, ids, p, key, y);
}

void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y) {
  same_shape("bias_dropout_add", "x", x, "residual", residual);
  same_shape("bias_dropout_add", "x", x, "y", y);
  same_kind("bias_dropout_add", x, {&bias, &residual, &y});
  has_elements("bias_dropout_add", "the bias", bias, x.cols());
  require(p >= 0 && p < 1, "[bias_dropout_add] the probability must be in [0, 1), not ", p);
  Scope scope("bias_dropout_add", 12 * count(x), bytes(x, residual, y));
  op_table(x.device).bias_dropout_add(x, bias, residual, p, key, y);
}

void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd) {
  same_shape("layer_norm", "x", x, "y", y);
  same_kind("layer_norm", x, {&gamma, &beta, &y, &mean, &rstd});
  require(x.cols() > 0, "[layer_norm] rows of ", x.shape, " have no elements");
  has_elements("layer_norm", "gamma", gamma, x.cols());
  has_elements("layer_norm", "beta", beta, x.cols());
  has_elements("layer_norm", "mean", mean, x.rows());
  has_elements("layer_norm", "rstd", rstd, x.rows());
  Scope scope("layer_norm", 8 * count(x), bytes(x, y));
  op_table(x.device).layer_norm(x, gamma, beta, eps, y, mean, rstd);
}

void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta) {
  same_shape("layer_norm_backward", "x", x, "dy", dy);
  has_elements("layer_norm_backward", "gamma", gamma, x.cols());
  has_elements("layer_norm_backward", "mean", mean, x.rows());
  has_elements("layer_norm_backward", "rstd", rstd, x.rows());
  if (dx.view) same_shape("layer_norm_backward", "x", x, "dx", dx.view);
  if (dgamma.view) has_elements("layer_norm_backward", "dgamma", dgamma.view, x.cols());
  if (dbeta.view) has_elements("layer_norm_backward", "dbeta", dbeta.view, x.cols());
  same_kind("layer_norm_backward", x,
            {&gamma, &mean, &rstd, &dy, &dx.view, &dgamma.view, &dbeta.view});
  Scope scope("layer_norm_backward", 14 * count(x), 3 * bytes(x));
  op_table(x.device).layer_norm_backward(x, gamma, mean, rstd, dy, dx, dgamma, dbeta);
}

namespace {
void check_lstm(const char* op, const Lstm& io) {
  const int64_t b = io.batch(), h = io.size(), rows = io.x.rows();
  require(b > 0 && rows > 0 && rows % b == 0, "[", op, "] ", rows,
          " rows of input are no whole time steps of a batch of ", b);
  same_kind(
      op, io.x,
      {&io.w_ih, &io.w_hh, &io.b_ih, &io.b_hh, &io.h0, &io.c0, &io.hidden, &io.cells, &io.gates});
  is_matrix(op, "w_ih", io.w_ih, 4 * h, io.x.cols());
  is_matrix(op, "w_hh", io.w_hh, 4 * h, h);
  has_elements(op, "b_ih", io.b_ih, 4 * h);
  has_elements(op, "b_hh", io.b_hh, 4 * h);
  is_matrix(op, "c0", io.c0, b, h);
  is_matrix(op, "hidden", io.hidden, rows + b, h);
  is_matrix(op, "cells", io.cells, rows + b, h);
  is_matrix(op, "gates", io.gates, rows, 4 * h);
}
double lstm_flops(const Lstm& io) {
  return 2.0 * static_cast<double>(io.x.rows()) * 4 * static_cast<double>(io.size()) *
         static_cast<double>(io.x.cols() + io.size());
}
}  // namespace

void lstm(const Lstm& io, Arena& arena) {
  check_lstm("lstm", io);
  Scope scope("lstm", lstm_flops(io), bytes(io.x, io.w_ih, io.w_hh, io.gates, io.hidden, io.cells));
  op_table(io.x.device).lstm(io, arena);
}

void lstm_backward(const Lstm& io, const LstmGradients& g, Arena& arena) {
  check_lstm("lstm_backward", io);
  same_kind("lstm_backward", io.x,
            {&g.dy, &g.dh_n, &g.dc_n, &g.dx.view, &g.dw_ih.view, &g.dw_hh.view, &g.db_ih.view,
             &g.db_hh.view, &g.dh0.view, &g.dc0.view});
  const int64_t b = io.batch(), h = io.size();
  const auto matrix = [](const char* what, const View& v, int64_t rows, int64_t cols) {
    if (v) is_matrix("lstm_backward", what, v, rows, cols);
  };
  matrix("dy", g.dy, io.x.rows(), h);
  matrix("dh_n", g.dh_n, b, h);
  matrix("dc_n", g.dc_n, b, h);
  matrix("dh0", g.dh0.view, b, h);
  matrix("dc0", g.dc0.view, b, h);
  matrix("dx", g.dx.view, io.x.rows(), io.x.cols());
  matrix("dw_ih", g.dw_ih.view, 4 * h, io.x.cols());
  matrix("dw_hh", g.dw_hh.view, 4 * h, h);
  if (g.db_ih.view) has_elements("lstm_backward", "db_ih", g.db_ih.view, 4 * h);
  if (g.db_hh.view) has_elements("lstm_backward", "db_hh", g.db_hh.view, 4 * h);
  Scope scope("lstm_backward", 2 * lstm_flops(io),
              bytes(io.x, io.w_ih, io.w_hh, io.hidden, io.cells) + 3 * bytes(io.gates));

  const OpTable& table = op_table(io.x.device);
  const Arena::Scope memory(arena);
  const Tensor dc = arena.temporary({b, h}, io.x.dtype), dh = arena.temporary({b, h}, io.x.dtype);
  if (g.dc_n) {
    ops::copy(g.dc_n, dc);
  } else {
    table.fill(dc, 0);
  }
  table.lstm_through_time(io, g, dh, dc, arena);
  const View& dgates = io.gates;
  if (g.dh0.view) table.scale(1, dh, g.dh0);
  if (g.dc0.view) table.scale(1, dc, g.dc0);
  if (g.dx.view) table.matmul(dgates, false, io.w_ih, false, g.dx, 1.0);
  if (g.dw_ih.view) table.matmul(dgates, true, io.x, false, g.dw_ih, 1.0);
  if (g.dw_hh.view)
    table.matmul(dgates, true, io.hidden.row_range(0, io.x.rows()), false, g.dw_hh, 1.0);
  if (g.db_ih.view) table.column_sums(dgates, g.db_ih);
  if (g.db_hh.view) table.column_sums(dgates, g.db_hh);
}

namespace {
void check_attention(const char* op, const Attention& io) {
  same_kind(op, io.q, {&io.k, &io.v, &io.y, &io.lse});
  require(io.batch > 0 && io.heads > 0, "[", op, "] a batch of ", io.batch, " with ", io.heads,
          " heads has nothing to attend to");
  require(io.q.rows() % io.batch == 0 && io.k.rows() % io.batch == 0, "[", op, "] ", io.q.rows(),
          " queries and ", io.k.rows(), " keys are no whole sentences of a batch of ", io.batch);
  require(io.q.cols() > 0 && io.q.cols() % io.heads == 0, "[", op, "] ", io.q.cols(),
          " columns do not divide into ", io.heads, " heads");
  require(io.k.cols() == io.q.cols(), "[", op, "] queries of shape ", io.q.shape,
          " do not fit keys of shape ", io.k.shape);
  same_shape(op, "k", io.k, "v", io.v);
  same_shape(op, "q", io.q, "y", io.y);
  is_matrix(op, "lse", io.lse, io.batch * io.heads, io.queries());
  if (io.lengths) are_indices(op, io.q, io.lengths, io.batch);
  require(!io.causal || io.queries() == io.keys(), "[", op,
          "] causal attention needs as many queries as keys, not ", io.queries(), " and ",
          io.keys(), "; give a step of decoding its key lengths instead");
}
}  // namespace

void attention(const Attention& io) {
  check_attention("attention", io);
  Scope scope("attention", io.flops(), bytes(io.q, io.k, io.v, io.y));
  op_table(io.q.device).attention(io);
}

void attention_backward(const Attention& io, const AttentionGradients& g) {
  check_attention("attention_backward", io);
  same_shape("attention_backward", "q", io.q, "dy", g.dy);
  same_kind("attention_backward", io.q, {&g.dy, &g.dq.view, &g.dk.view, &g.dv.view});
  if (g.dq.view) same_shape("attention_backward", "q", io.q, "dq", g.dq.view);
  if (g.dk.view) same_shape("attention_backward", "k", io.k, "dk", g.dk.view);
  if (g.dv.view) same_shape("attention_backward", "v", io.v, "dv", g.dv.view);
  Scope scope("attention_backward", 2.5 * io.flops(), 2 * bytes(io.q, io.k, io.v) + bytes(g.dy));
  op_table(io.q.device).attention_backward(io, g);
}

void log_softmax(const View& x, const View& y) {
  same_shape("log_softmax", "x", x, "y", y);
  same_kind("log_softmax", x, {&y});
  require(x.cols() > 0, "[log_softmax] rows of ", x.shape, " have no elements");
  Scope scope("log_softmax", 10 * count(x), bytes(x, y));
  op_table(x.device).log_softmax(x, y);
}

void log_softmax_backward(const View& y, const View& dy, const OutputView& dx) {
  same_shape("log_softmax_backward", "y", y, "dy", dy);
  same_shape("log_softmax_backward", "y", y, "dx", dx.view);
  same_kind("log_softmax_backward", y, {&dy, &dx.view});
  Scope scope("log_softmax_backward", 10 * count(y), bytes(y, dy, dx.view));
  op_table(y.device).log_softmax_backward(y, dy, dx);
}

void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss) {
  same_kind("nll", log_probs, {});
  are_indices("nll", log_probs, targets, log_probs.rows());
  is_double_scalar("nll", log_probs, "the loss", loss.view);
  Scope scope("nll", count(targets), bytes(targets));
  op_table(log_probs.device).nll(log_probs, targets, row_weight, loss);
}

void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs) {
  same_kind("nll_backward", dlog_probs, {});
  are_indices("nll_backward", dlog_probs, targets, dlog_probs.rows());
  is_double_scalar("nll_backward", dlog_probs, "the upstream gradient", grad_output);
  Scope scope("nll_backward", count(targets), bytes(targets));
  op_table(dlog_probs.device).nll_backward(targets, row_weight, grad_output, dlog_probs);
}

namespace {
void check_spread(const HeadBlock& b, const char* op) {
  require(b.spread >= 0 && b.spread * static_cast<double>(b.words() - 1) <= 1, "[", op,
          "] label smoothing of ", b.spread, " a word is no distribution over ", b.words(),
          " words");
  require(b.spread == 0 || b.size() > 1 || b.score_sum, "[", op,
          "] label smoothing needs score_sum");
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
    planes += head_product_planes(c.score, b.dims());
    kept += head_score_planes(c.score);
  }
  same_kind(op, b.h, {&b.bias, &b.log_prior, &b.products, &b.scores});
  require(b.words() > 0, "[", op, "] the vocabulary is empty");
  require(b.h.rows() == (columns == 1 ? rows : columns * b.padded_rows()), "[", op, "] ",
          b.h.rows(), " stacked contexts for ", columns, " components of ", rows, " rows");
  if (b.bias) has_elements(op, "the bias", b.bias, b.words());
  are_indices(op, b.h, b.targets, rows);
  if (b.log_prior) is_matrix(op, "log_prior", b.log_prior, rows, columns);
  require(columns == 1 || b.log_prior, "[", op, "] a mixture needs log_prior");
  if (b.products)
    is_matrix(op, "the block of products", b.products, b.words(), planes * b.padded_rows());
  if (b.scores) is_matrix(op, "the block of scores", b.scores, b.words(), kept * b.padded_rows());
  for (const View* v :
       {&b.lse, &b.target_score, &b.score_sum, &b.share, &b.weight, &b.target_slope}) {
    if (!*v) continue;
    has_elements(op, "what is kept of each row", *v, columns * rows);
    require(v->dtype == DType::float64, "[", op, "] what is kept of each row is float64, got ",
            v->dtype);
  }
  check_spread(b, op);
}
double head_flops(const HeadBlock& b) {
  double whole = 0;  // C^2 products of d/C numbers are C of whole vectors
  for (const HeadComponent& c : b.components)
    whole += std::sqrt(static_cast<double>(head_product_planes(c.score, b.dims())));
  return 2.0 * whole * static_cast<double>(b.rows() * b.dims()) * static_cast<double>(b.words());
}
void check_stats(const char* op, const Score& score, const View& w, const View& stats) {
  same_kind(op, w, {});
  is_matrix(op, "the statistics", stats, w.rows(), head_stats_size(score, w.cols()));
  require(stats.dtype == DType::float64, "[", op, "] statistics are float64, got ", stats.dtype);
}
}  // namespace

int64_t head_stats_size(const Score& score, int64_t d) {
  int64_t size = 0;
  scores::visit(score, d, [&](const auto& k) {
    size = k.parts() * std::remove_cvref_t<decltype(k)>::kStats;
  });
  return size;
}

int64_t head_product_planes(const Score& score, int64_t d) {
  int64_t planes = 0;
  scores::visit(score, d, [&](const auto& k) { planes = k.parts() * k.parts(); });
  return planes;
}

// Kernels with statistics take exponents, logarithms or divisions; the others next to nothing.
int64_t head_score_planes(const Score& score) {
  int64_t planes = 0;
  scores::visit(score, 1, [&](const auto& k) {
    planes = std::remove_cvref_t<decltype(k)>::kStats > 0 ? 1 : 0;
  });
  return planes;
}

void head_stats(const Score& score, const View& w, const View& stats) {
  check_stats("head_stats", score, w, stats);
  Scope scope("head_stats", 2 * count(w), bytes(w, stats));
  op_table(w.device).head_stats(score, w, stats);
}

void head_stats_backward(const Score& score, const View& w, const View& stats, const View& dstats,
                         const View& dw) {
  check_stats("head_stats_backward", score, w, stats);
  check_stats("head_stats_backward", score, w, dstats);
  same_kind("head_stats_backward", w, {&dw});
  same_shape("head_stats_backward", "w", w, "dw", dw);
  Scope scope("head_stats_backward", 2 * count(w), bytes(w, dw, dw));
  op_table(w.device).head_stats_backward(score, w, stats, dstats, dw);
}

void head_scores(const HeadBlock& block, Arena& arena) {
  check_head("head_scores", block);
  Scope scope("head_scores", head_flops(block),
              bytes(block.h, block.components.front().w, block.products, block.scores));
  op_table(block.h.device).head_scores(block, arena);
}

void head_loss(const HeadBlock& block, double row_weight, const View& nll_out,
               const OutputView& loss, const View& dlogits, Arena& arena) {
  check_head("head_loss", block);
  has_elements("head_loss", "nll", nll_out, block.rows());
  is_double_scalar("head_loss", block.h, "the loss", loss.view);
  if (dlogits) is_matrix("head_loss", "dlogits", dlogits, block.rows(), block.size());
  Scope scope("head_loss", 20 * count(block.lse), 5 * bytes(block.lse));
  op_table(block.h.device).head_loss(block, row_weight, nll_out, loss, dlogits, arena);
}

void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena) {
  check_head("head_gradients", block);
  same_kind("head_gradients", block.h, {&g.dh, &g.dbias.view});
  require(g.dw.size() == block.components.size() && g.dstats.size() == block.components.size(),
          "[head_gradients] needs a sink a component");
  for (const OutputView& dw : g.dw) {
    same_kind("head_gradients", block.h, {&dw.view});
    if (dw.view) same_shape("head_gradients", "w", block.components.front().w, "dw", dw.view);
  }
  if (g.dh) same_shape("head_gradients", "h", block.h, "dh", g.dh);
  if (g.dbias.view) has_elements("head_gradients", "dbias", g.dbias.view, block.words());
  Scope scope(
      "head_gradients", (block.products ? 2 : 3) * head_flops(block),
      2 * bytes(block.products) + bytes(block.scores, block.h, block.components.front().w) * 2);
  op_table(block.h.device).head_gradients(block, row_weight, g, arena);
}

void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena) {
  check_head("head_inference", block);
  if (log_probs)
    has_elements("head_inference", "log_probs", log_probs, block.rows() * block.words());
  if (scores)
    has_elements("head_inference", "scores", scores, block.size() * block.rows() * block.words());
  Scope scope("head_inference", head_flops(block), bytes(log_probs, scores));
  op_table(block.h.device).head_inference(block, log_probs, scores, arena);
}

void prior_penalty(PriorPenalty kind, double strength, const View& log_prior, const View& targets,
                   double row_weight, const View& loss, const View& dlogits) {
  same_kind("prior_penalty", log_prior, {&dlogits});
  are_indices("prior_penalty", log_prior, targets, log_prior.rows());
  is_double_scalar("prior_penalty", log_prior, "the loss", loss);
  if (dlogits) same_shape("prior_penalty", "log_prior", log_prior, "dlogits", dlogits);
  Scope scope("prior_penalty", 8 * count(log_prior), 2 * bytes(log_prior));
  op_table(log_prior.device)
      .prior_penalty(kind, strength, log_prior, targets, row_weight, loss, dlogits);
}

void row_norm_penalty(const View& x, double norm, const OutputView& out) {
  same_kind("row_norm_penalty", x, {});
  is_double_scalar("row_norm_penalty", x, "the sum", out.view);
  Scope scope("row_norm_penalty", 2 * count(x), bytes(x));
  op_table(x.device).row_norm_penalty(x, norm, out);
}

void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx) {
  same_kind("row_norm_penalty_backward", x, {&dx.view});
  same_shape("row_norm_penalty_backward", "x", x, "dx", dx.view);
  is_double_scalar("row_norm_penalty_backward", x, "the upstream gradient", grad_output);
  Scope scope("row_norm_penalty_backward", 4 * count(x), 3 * bytes(x));
  op_table(x.device).row_norm_penalty_backward(x, norm, factor, grad_output, dx);
}

void adam(const View& w, const View& g, const View& m, const View& v, const Clip& clip,
          const AdamStep& step) {
  same_shape("adam", "w", w, "g", g);
  same_shape("adam", "w", w, "m", m);
  same_shape("adam", "w", w, "v", v);
  same_kind("adam", w, {&g, &m, &v});
  if (clip.max_norm > 0) is_double_scalar("adam", w, "the squared norm", clip.norm_squared);
  Scope scope("adam", 12 * count(w), 7 * bytes(w));
  op_table(w.device).adam(w, g, m, v, clip, step);
}

void sgd(const View& w, const View& g, const View& u, const Clip& clip, const SgdStep& step) {
  same_shape("sgd", "w", w, "g", g);
  if (u) same_shape("sgd", "w", w, "the velocity", u);
  same_kind("sgd", w, {&g, &u});
  require(step.momentum == 0 || u, "[sgd] momentum needs a velocity slab");
  if (clip.max_norm > 0) is_double_scalar("sgd", w, "the squared norm", clip.norm_squared);
  Scope scope("sgd", 4 * count(w), (u ? 5 : 3) * bytes(w));
  op_table(w.device).sgd(w, g, u, clip, step);
}

void average(const View& mean, const View& w, double weight) {
  same_shape("average", "the average", mean, "w", w);
  same_kind("average", mean, {&w});
  Scope scope("average", 3 * count(w), 3 * bytes(w));
  op_table(w.device).average(mean, w, weight);
}

}  // namespace nine::ops
