// Checks the views, counts the cost and calls the device's implementation of each op.
#include "core/ops.h"

#include <algorithm>
#include <cmath>

#include "core/op_checks.h"
#include "core/op_table.h"
#include "core/profile.h"

namespace nine::ops {

using namespace checks;
using profile::Scope;

void fill(const View& y, double value) {
  is_given("fill", "y", y);
  Scope scope("fill", 0, bytes(y));
  op_table(y.device).fill(y, value);
}

void fill_rows(const View& y, const View& ids, double value) {
  same_kind("fill_rows", y, {});
  are_indices("fill_rows", y, ids, ids.elements());
  Scope scope("fill_rows", 0,
              count(ids) * static_cast<double>(y.cols()) * static_cast<double>(size_of(y.dtype)));
  op_table(y.device).fill_rows(y, ids, value);
}

void copy(const View& x, const View& y) {
  same_shape("copy", "x", x, "y", y);
  require(x.dtype == y.dtype || (is_float(x.dtype) && is_float(y.dtype)), "[copy] ", x.dtype,
          " to ", y.dtype, ": copy() converts floating-point types only; use convert()");
  Scope scope("copy", 0, bytes(x, y));
  if (x.device == y.device && x.dtype != y.dtype) return op_table(y.device).copy(x, y);
  if (x.dtype != y.dtype) {
    // A copy between devices moves bytes only: convert the type on the CPU.
    const bool down = y.device.kind == DeviceKind::cpu;
    const Tensor staged(x.shape, down ? x.dtype : y.dtype);
    copy(x, staged);
    return copy(staged, y);
  }
  op_table(x.device.kind == DeviceKind::cpu ? y.device : x.device).copy_bytes(x, y);
}

bool all_finite(const View& x) {
  is_given("all_finite", "x", x);
  Scope scope("all_finite", count(x), bytes(x));
  return op_table(x.device).all_finite(x);
}

void unary(Unary f, const View& x, const OutputView& y, double p, double q) {
  same_shape("unary", "x", x, "y", y.view);
  same_kind("unary", x, {&y.view});
  Scope scope("unary", count(x), bytes(x, y.view));
  op_table(x.device).unary(f, x, y, p, q);
}

void unary_backward(Unary f, const View& x, const View& y, const View& dy, const OutputView& dx,
                    double p, double q) {
  same_shape("unary_backward", "x", x, "y", y);
  same_shape("unary_backward", "x", x, "dx", dx.view);
  same_shape("unary_backward", "y", y, "dy", dy);
  same_kind("unary_backward", x, {&y, &dy, &dx.view});
  Scope scope("unary_backward", 2 * count(x), bytes(x, y, dy, dx.view));
  op_table(x.device).unary_backward(f, x, y, dy, dx, p, q);
}

namespace {
void check_gate(const char* op, Unary f) {
#define NINE_VALUE(NAME) Unary::NAME,
  constexpr Unary kGates[] = {NINE_FOR_EACH_GATE(NINE_VALUE)};
#undef NINE_VALUE
#define NINE_NAME(NAME) " " #NAME
  require(std::ranges::find(kGates, f) != std::end(kGates), "[", op,
          "] takes one of these functions:" NINE_FOR_EACH_GATE(NINE_NAME));
#undef NINE_NAME
}
}  // namespace

void gated(Unary f, const View& a, const View& b, const View& y) {
  check_gate("gated", f);
  same_shape("gated", "a", a, "b", b);
  same_shape("gated", "a", a, "y", y);
  same_kind("gated", a, {&b, &y});
  Scope scope("gated", 11 * count(a), bytes(a, b, y));
  op_table(a.device).gated(f, a, b, y);
}

void gated_backward(Unary f, const View& a, const View& b, const View& dy, const OutputView& da,
                    const OutputView& db) {
  const char* const op = "gated_backward";
  check_gate(op, f);
  same_shape(op, "a", a, "b", b);
  same_shape(op, "a", a, "dy", dy);
  if (da.view) same_shape(op, "a", a, "da", da.view);
  if (db.view) same_shape(op, "a", a, "db", db.view);
  same_kind(op, a, {&b, &dy, &da.view, &db.view});
  Scope scope(op, 22 * count(a), bytes(a, b, dy) + 2 * bytes(a));
  op_table(a.device).gated_backward(f, a, b, dy, da, db);
}

void binary(Binary f, const View& a, const View& b, const OutputView& y) {
  require(
      b.shape == a.shape || b.shape.rank() == 0 || (b.shape.rank() == 1 && b.cols() == a.cols()),
      "[binary] shapes ", a.shape, " and ", b.shape,
      " do not agree: the second must have the shape of the first, be one row of it, or a scalar");
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
  is_given("matmul", "the second tensor", b);
  const int64_t m = transpose_a ? a.cols() : a.rows(), k = transpose_a ? a.rows() : a.cols();
  const int64_t inner = transpose_b ? b.cols() : b.rows(), n = transpose_b ? b.rows() : b.cols();
  require(k == inner, "[matmul] inner dimensions differ: ", a.shape, transpose_a ? "' x " : " x ",
          b.shape, transpose_b ? "'" : "",
          a.shape.rank() > 2 || b.shape.rank() > 2
              ? "; a tensor of rank above 2 counts as the matrix of its rows here, and "
                "batched_matmul() multiplies the matrices one by one"
              : "");
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
          "[embedding_with_positions] ", y.rows(), " rows are not a multiple of ", positions.rows(),
          " positions");
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

namespace {
void check_probability(const char* op, double p) {
  require(p >= 0 && p < 1, "[", op, "] the probability must be in [0, 1), not ", p);
}
}  // namespace

void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows) {
  same_shape("dropout", "x", x, "y", y.view);
  same_kind("dropout", x, {&y.view});
  check_probability("dropout", p);
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
  check_probability("dropout_words", p);
  Scope scope("dropout_words", count(x), bytes(x, y.view));
  op_table(x.device).dropout_words(x, ids, p, key, y);
}

void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y) {
  same_shape("bias_dropout_add", "x", x, "residual", residual);
  same_shape("bias_dropout_add", "x", x, "y", y);
  same_kind("bias_dropout_add", x, {&bias, &residual, &y});
  has_elements("bias_dropout_add", "the bias", bias, x.cols());
  check_probability("bias_dropout_add", p);
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

void rms_norm(const View& x, const View& gamma, double eps, const View& y, const View& rstd) {
  const int64_t part = gamma.elements();
  same_shape("rms_norm", "x", x, "y", y);
  same_kind("rms_norm", x, {&gamma, &y, &rstd});
  require(x.cols() > 0 && part > 0 && x.cols() % part == 0, "[rms_norm] rows of ", x.shape,
          " do not divide into parts of ", part, " elements, as gamma has");
  has_elements("rms_norm", "rstd", rstd, x.elements() / part);
  Scope scope("rms_norm", 4 * count(x), bytes(x, y));
  op_table(x.device).rms_norm(x, gamma, eps, y, rstd);
}

void rms_norm_backward(const View& x, const View& gamma, const View& rstd, const View& dy,
                       const OutputView& dx, const OutputView& dgamma) {
  const char* const op = "rms_norm_backward";
  const int64_t part = gamma.elements();
  same_shape(op, "x", x, "dy", dy);
  same_kind(op, x, {&gamma, &rstd, &dy, &dx.view, &dgamma.view});
  require(x.cols() > 0 && part > 0 && x.cols() % part == 0, "[", op, "] rows of ", x.shape,
          " do not divide into parts of ", part, " elements, as gamma has");
  has_elements(op, "rstd", rstd, x.elements() / part);
  if (dx.view) same_shape(op, "x", x, "dx", dx.view);
  if (dgamma.view) has_elements(op, "dgamma", dgamma.view, part);
  Scope scope(op, 9 * count(x), 3 * bytes(x));
  op_table(x.device).rms_norm_backward(x, gamma, rstd, dy, dx, dgamma);
}

void rotary(const View& x, const View& angles, bool inverse, const OutputView& y) {
  same_shape("rotary", "x", x, "y", y.view);
  same_kind("rotary", x, {&angles, &y.view});
  const int64_t part = angles.cols();
  require(part > 0 && part % 2 == 0 && x.cols() % part == 0, "[rotary] rows of ", x.shape,
          " do not divide into heads of ", part, " elements, an even number, as the angles have");
  require(angles.rows() > 0 && x.rows() % angles.rows() == 0, "[rotary] ", x.rows(),
          " rows are not whole sequences of ", angles.rows(), " positions");
  Scope scope("rotary", 3 * count(x), bytes(x, y.view));
  op_table(x.device).rotary(x, angles, inverse, y);
}

namespace {
void check_lstm(const char* op, const Lstm& io) {
  const int64_t b = io.batch(), h = io.size(), rows = io.x.rows();
  require(b > 0 && rows > 0 && rows % b == 0, "[", op, "] ", rows,
          " rows of input are not whole time steps of a batch of ", b);
  require(h > 0, "[", op, "] a state of shape ", io.h0.shape, " has no numbers");
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

void lstm_through_time(const Lstm& io, const LstmGradients& g, const View& dh, const View& dc,
                       Arena& arena) {
  const char* const op = "lstm_through_time";
  const int64_t b = io.batch(), h = io.size();
  check_lstm(op, io);
  same_kind(op, io.x, {&g.dy, &g.dh_n, &dh, &dc});
  if (g.dy) is_matrix(op, "dy", g.dy, io.x.rows(), h);
  if (g.dh_n) is_matrix(op, "dh_n", g.dh_n, b, h);
  is_matrix(op, "dh", dh, b, h);
  is_matrix(op, "dc", dc, b, h);
  Scope scope("lstm_through_time", lstm_flops(io), bytes(io.w_hh, io.cells) + 3 * bytes(io.gates));
  op_table(io.x.device).lstm_through_time(io, g, dh, dc, arena);
}

void lstm_backward(const Lstm& io, const LstmGradients& g, Arena& arena) {
  check_lstm("lstm_backward", io);
  same_kind("lstm_backward", io.x,
            {&g.dc_n, &g.dx.view, &g.dw_ih.view, &g.dw_hh.view, &g.db_ih.view, &g.db_hh.view,
             &g.dh0.view, &g.dc0.view});
  const int64_t b = io.batch(), h = io.size();
  const auto matrix = [](const char* what, const View& v, int64_t rows, int64_t cols) {
    if (v) is_matrix("lstm_backward", what, v, rows, cols);
  };
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
  lstm_through_time(io, g, dh, dc, arena);
  // The order is that of LstmGradients: if two of them are one tensor, the first may overwrite it.
  const View& dgates = io.gates;
  if (g.dx.view) table.matmul(dgates, false, io.w_ih, false, g.dx, 1.0);
  if (g.dw_ih.view) table.matmul(dgates, true, io.x, false, g.dw_ih, 1.0);
  if (g.dw_hh.view)
    table.matmul(dgates, true, io.hidden.row_range(0, io.x.rows()), false, g.dw_hh, 1.0);
  if (g.db_ih.view && g.db_hh.view) {  // both biases have the same gradient
    const Tensor sums = arena.temporary({1, 4 * h}, io.x.dtype);
    table.column_sums(dgates, {sums});
    for (const OutputView& db : {g.db_ih, g.db_hh})
      table.scale(1, sums, {db.view.reshaped({1, 4 * h}), db.add});
  } else if (g.db_ih.view || g.db_hh.view) {
    table.column_sums(dgates, g.db_ih.view ? g.db_ih : g.db_hh);
  }
  if (g.dh0.view) table.scale(1, dh, g.dh0);
  if (g.dc0.view) table.scale(1, dc, g.dc0);
}

namespace {
void check_attention(const char* op, const Attention& io) {
  same_kind(op, io.q, {&io.k, &io.v, &io.y, &io.lse});
  require(io.batch > 0 && io.heads > 0, "[", op,
          "] the batch size and the number of heads must be at least 1, not ", io.batch, " and ",
          io.heads);
  require(io.q.rows() % io.batch == 0 && io.k.rows() % io.batch == 0, "[", op, "] ", io.q.rows(),
          " queries and ", io.k.rows(), " keys are not multiples of the batch size ", io.batch);
  require(io.q.cols() > 0 && io.q.cols() % io.heads == 0, "[", op, "] ", io.q.cols(),
          " columns do not divide into ", io.heads, " heads");
  require(io.k.cols() > 0 && io.k.cols() % io.size() == 0 && io.heads % io.kv_heads() == 0, "[", op,
          "] queries of shape ", io.q.shape, " with ", io.heads, " heads do not fit keys of shape ",
          io.k.shape);
  same_shape(op, "k", io.k, "v", io.v);
  same_shape(op, "q", io.q, "y", io.y);
  is_matrix(op, "lse", io.lse, io.batch * io.heads, io.queries());
  if (io.lengths) are_indices(op, io.q, io.lengths, io.batch);
  require(!io.causal || io.queries() == io.keys(), "[", op,
          "] causal attention needs as many queries as keys, not ", io.queries(), " and ",
          io.keys(), "; for a step of decoding, give key lengths instead");
  check_probability(op, io.dropout);
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

void listed_attention(const ListedAttention& io) {
  const char* op = "listed_attention";
  same_kind(op, io.q, {&io.keys_values, &io.y, &io.weights});
  require(io.heads > 0 && io.q.cols() > 0 && io.q.cols() % io.heads == 0, "[", op, "] ",
          io.q.cols(), " columns do not divide into ", io.heads, " heads");
  require(io.keys_values.cols() > 0 && io.keys_values.cols() % (2 * io.size()) == 0 &&
              io.heads % io.kv_heads() == 0,
          "[", op, "] queries of shape ", io.q.shape, " with ", io.heads,
          " heads do not fit keys and values of shape ", io.keys_values.shape);
  same_shape(op, "q", io.q, "y", io.y);
  are_indices(op, io.q, io.rows, io.rows.elements());
  for (const View* v : {&io.first, &io.counts}) are_indices(op, io.q, *v, io.q.rows());
  require(!io.weights || io.weights.rows() == io.q.rows(), "[", op, "] weights of shape ",
          io.weights.shape, " have no row for each of ", io.q.rows(), " queries");
  // Lists may share rows: the cost is that of lists that do not.
  const double pairs = count(io.rows) * static_cast<double>(io.q.cols());
  Scope scope(op, 4 * pairs, 2 * pairs * static_cast<double>(size_of(io.q.dtype)));
  op_table(io.q.device).listed_attention(io);
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
  is_double_scalar("nll_backward", dlog_probs, "grad_output", grad_output);
  Scope scope("nll_backward", count(targets), bytes(targets));
  op_table(dlog_probs.device).nll_backward(targets, row_weight, grad_output, dlog_probs);
}

namespace {
void check_clip(const char* op, const View& w, const Clip& clip) {
  require(clip.max_norm >= 0, "[", op, "] the largest gradient norm must not be negative, but is ",
          clip.max_norm);
  if (clip.max_norm > 0) is_double_scalar(op, w, "the squared norm", clip.norm_squared);
}
}  // namespace

void update(const View& w, const View& g, std::initializer_list<View> states, const View* ids,
            const Clip& clip, const UpdateStep& step) {
  const auto run = [&](const auto& rule) {
    const char* op = rule.kName;
    require(states.size() == rule.states(), "[", op, "] the rule has ", rule.states(),
            " states, not ", states.size());
    same_shape(op, "w", w, "g", g);
    same_kind(op, w, {&g});
    for (const View& state : states) {
      same_shape(op, "w", w, "a state", state);
      same_kind(op, w, {&state});
    }
    if (ids != nullptr) are_indices(op, w, *ids, ids->elements());
    check_clip(op, w, clip);
    const double weights = ids != nullptr ? count(*ids) * static_cast<double>(w.cols()) : count(w);
    // w and each state are read and written, g is read.
    const double numbers = static_cast<double>(3 + 2 * states.size()) * weights;
    Scope scope(op, rule.kOperations * weights, numbers * static_cast<double>(size_of(w.dtype)));
    op_table(w.device).update(w, g, states, ids, clip, step);
  };
  std::visit(run, step);
}

void average(const View& mean, const View& w, double weight) {
  same_shape("average", "the average", mean, "w", w);
  same_kind("average", mean, {&w});
  Scope scope("average", 3 * count(w), 3 * bytes(w));
  op_table(w.device).average(mean, w, weight);
}

}  // namespace nine::ops
