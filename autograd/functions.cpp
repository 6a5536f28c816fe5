#include "autograd/functions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/arrays.h"
#include "autograd/broadcast.h"
#include "autograd/packed_weights.h"
#include "core/array_ops.h"

namespace nine {
namespace {

// Adds the gradient of a sum over x or over its rows: `gradient`, a scalar or a row, broadcast over
// x.
void add_broadcast(const View& gradient, const Var& x) {
  const View dx = x.zeroed_grad_input();
  ops::binary(ops::Binary::add, dx, gradient, {dx});
}

}  // namespace

Var sum(const Var& x) {
  Tape& tape = x.tape();
  if (!is_float(x.dtype())) return sum(x, Dims::all());
  needs_floats("sum", x);
  const Var y = tape.result("sum", {}, x.dtype(), {x});
  ops::sum(x.value(), {y.value()});
  return tape.record(y, [x, y] { add_broadcast(y.grad_output(), x); });
}

Var mean(const Var& x) {
  if (!is_float(x.dtype())) return mean(x, Dims::all());
  needs_floats("mean", x);
  return scale(sum(x), 1.0 / static_cast<double>(x.shape().elements()));
}

Var column_sums(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("column_sums", {x.shape().cols()}, x.dtype(), {x});
  ops::column_sums(x.value(), {y.value()});
  return tape.record(y, [x, y] { add_broadcast(y.grad_output(), x); });
}

Var sum_squares(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("sum_squares", {}, DType::float64, {x});
  ops::sum_squares(x.value(), y.value());
  return tape.record(y,
                     [x, y] { ops::scale(2 * y.grad_output().item(), x.value(), x.grad_input()); });
}

namespace {
// Writes x's gradient: `gradient`, converted to x's type. Ops cannot add in bfloat16, so a sum in
// bfloat16 is formed in float32.
void convert_into(const Var& x, const View& gradient) {
  Arena& arena = x.tape().arena();
  const bool bf16 = x.dtype() == DType::bfloat16;
  const Tensor dx = arena.block(x.shape(), bf16 ? DType::float32 : x.dtype());
  ops::copy(gradient, dx);
  const OutputView to = x.grad_input();
  if (bf16) {
    if (to.add) {
      const Tensor before = arena.block(x.shape(), DType::float32);
      ops::copy(to.view, before);
      ops::scale(1, before, {dx, true});
      arena.free_block(before);
    }
    ops::copy(dx, to.view);
  } else {
    ops::scale(1, dx, to);
  }
  arena.free_block(dx);
}
}  // namespace

Var cast(const Var& x, DType dtype) {
  Tape& tape = x.tape();
  if (!is_float(x.dtype()) || !is_float(dtype)) {
    const Var y = tape.result("cast", x.shape(), dtype, {});
    ops::convert(x.value(), y.value());
    return y;
  }
  const Var y = tape.result("cast", x.shape(), dtype, {x});
  ops::copy(x.value(), y.value());
  return tape.record(y, [x, y] { convert_into(x, y.grad_output()); });
}

Var detach(const Var& x) { return x.tape().constant(x.value()); }

Var matmul(const Var& a, const Var& b, bool transpose_a, bool transpose_b) {
  Tape& tape = a.tape();
  const int64_t m = transpose_a ? a.shape().cols() : a.shape().rows(),
                n = transpose_b ? b.shape().rows() : b.shape().cols();
  const Var y = tape.result("matmul", {m, n}, a.dtype(), {a, b});
  ops::matmul(a.value(), transpose_a, b.value(), transpose_b, {y.value()});
  return tape.record(y, [a, b, y, transpose_a, transpose_b] {
    const View dy = y.grad_output();
    // With A = op(a) and B = op(b): dA = dy B' and dB = A' dy. da is dA, or dA' if a is transposed;
    // db likewise.
    if (a.needs_grad()) {
      if (transpose_a) {
        ops::matmul(b.value(), transpose_b, dy, true, a.grad_input());
      } else {
        ops::matmul(dy, false, b.value(), !transpose_b, a.grad_input());
      }
    }
    if (b.needs_grad()) {
      if (transpose_b) {
        ops::matmul(dy, true, a.value(), transpose_a, b.grad_input());
      } else {
        ops::matmul(a.value(), !transpose_a, dy, false, b.grad_input());
      }
    }
  });
}

namespace {
// Writes the gradients of x, w and b, given dz = dL/dz of z = x w' + b.
void linear_backward(const View& dz, const Var& x, const Var& w, const Var& b) {
  if (x.needs_grad()) ops::matmul(dz, false, w.value(), false, x.grad_input());
  if (w.needs_grad()) ops::matmul(dz, true, x.value(), false, w.grad_input());
  if (b.needs_grad()) ops::column_sums(dz, b.grad_input());
}
}  // namespace

namespace {
// Computes y from the packed copy of w and its bias, if the tape has one.
bool multiply_packed(const Var& x, const Var& w, const Var& y, LinearMode mode) {
  const PackedWeights* packed = x.tape().packed();
  return packed != nullptr && packed->multiply(x.value(), w.value(), y.value(), mode);
}
}  // namespace

Var linear(const Var& x, const Var& w, const Var& b) {
  Tape& tape = x.tape();
  const Var y = tape.result("linear", x.shape().with_cols(w.shape().rows()), x.dtype(), {x, w, b});
  if (multiply_packed(x, w, y, LinearMode::plain)) return y;
  if (b) {
    ops::linear(x.value(), w.value(), b.value(), false, y.value());
  } else {
    same_types("linear", x, w);
    needs_floats("linear", x);
    require(x.shape().cols() == w.shape().cols(), "[linear] an input of shape ", x.shape(),
            " does not fit weights of shape ", w.shape());
    ops::matmul(x.value(), false, w.value(), true, {y.value()});
  }
  return tape.record(y, [x, w, b, y] { linear_backward(y.grad_output(), x, w, b); });
}

Var linear_relu(const Var& x, const Var& w, const Var& b) {
  Tape& tape = x.tape();
  const Var y =
      tape.result("linear_relu", x.shape().with_cols(w.shape().rows()), x.dtype(), {x, w, b});
  if (multiply_packed(x, w, y, LinearMode::relu)) return y;
  ops::linear(x.value(), w.value(), b.value(), true, y.value());
  return tape.record(y, [x, w, b, y] {
    const View dz = y.grad_output();  // in place: dy is not used after this function
    ops::unary_backward(ops::Unary::relu, y.value(), y.value(), dz, {dz});
    linear_backward(dz, x, w, b);
  });
}

Var linear_bias_dropout_add(const Var& x, const Var& w, const Var& b, const Var& residual, double p,
                            std::string_view stream) {
  Tape& tape = x.tape();
  const Var y = tape.result("linear_bias_dropout_add", x.shape().with_cols(w.shape().rows()),
                            x.dtype(), {x, w, b, residual});
  if (tape.packed() != nullptr) {
    ops::copy(residual.value(), y.value());
    if (multiply_packed(x, w, y, LinearMode::add)) return y;
  }
  const double rate = tape.recording() ? p : 0;
  const RandomKey key = tape.random_key(stream);
  ops::matmul(x.value(), false, w.value(), true, {y.value()});
  if (b) {
    ops::bias_dropout_add(y.value(), b.value(), residual.value(), rate, key, y.value());
  } else {
    if (rate > 0) ops::dropout(y.value(), rate, key, {y.value()});
    ops::binary(ops::Binary::add, y.value(), residual.value(), {y.value()});
  }
  return tape.record(y, [x, w, b, residual, y, rate, key] {
    const View dy = y.grad_output();
    if (residual.needs_grad()) ops::scale(1, dy, residual.grad_input());
    if (rate > 0)
      ops::dropout(dy, rate, key, {dy});  // in place: dy is not used after this function
    linear_backward(dy, x, w, b);
  });
}

namespace {
// Requires a matrix with a range of rows or columns.
void check_range(const char* name, const Var& x, int dim, int64_t begin, int64_t count) {
  const Shape shape = x.shape();
  require(shape.rank() == 2, "[", name, "] x of shape ", shape,
          " is not a matrix: slice() takes a range of any dimension");
  require(begin >= 0 && count >= 0 && begin <= shape[dim] && count <= shape[dim] - begin, "[", name,
          "] [", begin, ", ", begin, " + ", count, ") is outside of [0, ", shape[dim],
          ") in x of shape ", shape);
}
}  // namespace

Var row_range(const Var& x, int64_t begin, int64_t count) {
  check_range("row_range", x, 0, begin, count);
  const Var y = x.tape().view_of(x, x.value().row_range(begin, count));
  return x.tape().record(y, [x, y, begin, count] {
    ops::scale(1, y.grad_output(), {x.zeroed_grad_input().row_range(begin, count), true});
  });
}

Var col_range(const Var& x, int64_t begin, int64_t count) {
  check_range("col_range", x, 1, begin, count);
  const Var y = x.tape().view_of(x, x.value().col_range(begin, count));
  return x.tape().record(y, [x, y, begin, count] {
    ops::scale(1, y.grad_output(), {x.zeroed_grad_input().col_range(begin, count), true});
  });
}

Var reshape(const Var& x, const Shape& shape) {
  const Shape from = x.shape();
  require(from.elements() == shape.elements(), "[reshape] x of shape ", from, " has ",
          from.elements(), " elements, but ", shape, " has ", shape.elements());
  require(x.value().view().contiguous() || (shape.rank() > 0 && shape.cols() == from.cols()),
          "[reshape] x of shape ", from, " has gaps between its rows and cannot be seen as ", shape,
          ": in place of col_range(), take the columns by slice(), which copies them");
  const Var y = x.tape().view_of(x, x.value().reshaped(shape));
  return x.tape().record(
      y, [x, y] { ops::scale(1, y.grad_output().reshaped(x.shape()), x.grad_input()); });
}

Var reshape(const Var& x, std::initializer_list<int64_t> sizes) {
  const auto text = [&] {
    std::string s;
    for (const int64_t size : sizes) s += concat(s.empty() ? "(" : ", ", size);
    return s + ")";
  };
  const auto open = std::count(sizes.begin(), sizes.end(), -1);
  // Without -1 nothing is allocated, because training steps come here.
  if (open == 0) return reshape(x, Shape(sizes.begin(), static_cast<int>(sizes.size())));
  require(open == 1, "[reshape] two sizes of ", text(),
          " are -1: only one can follow from the others");
  std::vector<int64_t> found(sizes);
  int64_t& rest = *std::find(found.begin(), found.end(), -1);
  rest = 1;
  const int64_t elements = x.shape().elements(),
                others = Shape(found.data(), static_cast<int>(found.size())).elements();
  require(others > 0 && elements % others == 0, "[reshape] the ", elements,
          " elements of x of shape ", x.shape(), " do not divide into ", text());
  rest = elements / others;
  return reshape(x, Shape(found.data(), static_cast<int>(found.size())));
}

namespace {
// Sets y's row j * first + i to x's row i * second + j, or adds the row if y.add. It runs
// min(first, second) scaled copies of matrices whose rows lie apart.
void copy_transposed(const View& x, int64_t first, const OutputView& y) {
  if (!y.view || x.elements() == 0) return;
  const int64_t second = x.rows() / first, d = x.cols();
  const auto part = [&](View whole, int64_t begin, int64_t count, int64_t apart) {
    whole = whole.row_range(begin, 1);
    whole.shape = Shape{count, d};
    whole.ld *= apart;
    return whole;
  };
  if (first <= second) {
    for (int64_t i = 0; i < first; ++i)
      ops::scale(1, part(x, i * second, second, 1), {part(y.view, i, second, first), y.add});
  } else {
    for (int64_t j = 0; j < second; ++j)
      ops::scale(1, part(x, j, first, second), {part(y.view, j * first, first, 1), y.add});
  }
}
}  // namespace

Var transpose_rows(const Var& x, int64_t first) {
  Tape& tape = x.tape();
  const Shape shape = x.shape();
  require(shape.rank() == 2 && first > 0 && shape[0] % first == 0, "[transpose_rows] rows of ",
          shape, " do not divide into ", first, " blocks of equal size");
  const int64_t second = shape[0] / first;
  const Var y = tape.result("transpose_rows", shape, x.dtype(), {x});
  copy_transposed(x.value(), first, {y.value()});
  return tape.record(y,
                     [x, y, second] { copy_transposed(y.grad_output(), second, x.grad_input()); });
}

Var concat_rows(std::span<const Var> parts) {
  require(!parts.empty(), "[concat_rows] nothing to join");
  Tape& tape = parts.front().tape();
  int64_t rows = 0;
  for (const Var& p : parts) rows += p.shape().rows();
  const Var joined = tape.result("concat_rows", {rows, parts.front().shape().cols()},
                                 parts.front().dtype(), parts);
  int64_t row = 0;
  for (const Var& part : parts) {
    const int64_t count = part.shape().rows(), first = row;
    ops::scale(1, part.value(), {joined.value().row_range(first, count)});
    row += count;
  }
  const std::span<const Var> kept = tape.keep(parts);
  return tape.record(joined, [joined, kept] {
    int64_t first = 0;
    for (const Var& part : kept) {
      const int64_t count = part.shape().rows();
      if (part.needs_grad())
        ops::scale(1, joined.grad_output().row_range(first, count), part.grad_input());
      first += count;
    }
  });
}

namespace {
// Returns a vector as a table with one column, and any other table as it is.
View table_of(const View& v) {
  return v && v.shape.rank() == 1 ? v.reshaped({v.elements(), 1}) : v;
}
}  // namespace

namespace {
// Returns indices as int32, as the ops take them. Converts int64 in the step's pool; a number
// beyond int32 becomes the nearest int32, which is out of range for any table.
Tensor as_int32(Tape& tape, const Tensor& ids) {
  if (ids.dtype() != DType::int64) return ids;
  const Tensor here = tape.on_device(ids);
  Tensor narrow = tape.arena().saved(ids.shape(), DType::int32);
  ops::convert(here, narrow);
  return narrow;
}
}  // namespace

Var embedding(const Var& table, const Tensor& given_ids) {
  Tape& tape = table.tape();
  const Tensor ids = as_int32(tape, given_ids);
  const Shape& s = ids.shape();
  require(s.rank() < Shape::kMaxRank, "[embedding] indices have too many dimensions: ", s.rank());
  int64_t sizes[Shape::kMaxRank];
  for (int i = 0; i < s.rank(); ++i) sizes[i] = s[i];
  sizes[s.rank()] = table_of(table.value()).cols();
  const Var y = tape.result("embedding", Shape(sizes, s.rank() + 1), table.dtype(), {table});
  ops::embedding(table_of(table.value()), ids, y.value());
  const Var kept = tape.constant(ids);
  return tape.record(y, [table, kept, y] {
    ops::embedding_backward(y.grad_output(), kept.value(),
                            table_of(table.zeroed_grad_input(kept.value())));
  });
}

Var embedding_with_positions(const Var& table, const Tensor& given_ids, double factor,
                             const Tensor& positions) {
  Tape& tape = table.tape();
  const Tensor ids = as_int32(tape, given_ids);
  require(ids.shape().rank() == 2 && ids.shape()[1] <= positions.shape().rows(),
          "[embedding_with_positions] ids of shape ", ids.shape(), " and positions of shape ",
          positions.shape(),
          ": ids must be (batch, steps), and there must be a position for each step");
  const Var y = tape.result("embedding_with_positions", {ids.elements(), table.shape().cols()},
                            table.dtype(), {table});
  ops::embedding_with_positions(table.value(), ids, factor, positions.row_range(0, ids.shape()[1]),
                                y.value());
  const Var kept = tape.constant(ids);
  return tape.record(y, [table, kept, y, factor] {
    const View dy = y.grad_output();  // in place: dy is not used after this function
    ops::scale(factor, dy, {dy});
    ops::embedding_backward(dy, kept.value(), table.zeroed_grad_input(kept.value()));
  });
}

Var dropout(const Var& x, double p, std::string_view stream, int64_t mask_rows) {
  Tape& tape = x.tape();
  if (p == 0 || !tape.recording()) return x;
  const RandomKey key = tape.random_key(stream);
  const Var y = tape.result("dropout", x.shape(), x.dtype(), {x});
  ops::dropout(x.value(), p, key, {y.value()}, mask_rows);
  return tape.record(y, [x, y, p, key, mask_rows] {
    ops::dropout(y.grad_output(), p, key, x.grad_input(), mask_rows);
  });
}

Var dropout_words(const Var& x, const Tensor& given_ids, double p, std::string_view stream) {
  Tape& tape = x.tape();
  if (p == 0 || !tape.recording()) return x;
  const Tensor ids = as_int32(tape, given_ids);
  const RandomKey key = tape.random_key(stream);
  const Var y = tape.result("dropout_words", x.shape(), x.dtype(), {x}), kept = tape.constant(ids);
  ops::dropout_words(x.value(), ids, p, key, {y.value()});
  return tape.record(y, [x, y, kept, p, key] {
    ops::dropout_words(y.grad_output(), kept.value(), p, key, x.grad_input());
  });
}

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps) {
  Tape& tape = x.tape();
  const Var y = tape.result("layer_norm", x.shape(), x.dtype(), {x, gamma, beta});
  const Shape rows{x.shape().rows()};
  const Var mean = tape.result("layer_norm", rows, x.dtype(), {}),
            rstd = tape.result("layer_norm", rows, x.dtype(), {});
  ops::layer_norm(x.value(), gamma.value(), beta.value(), eps, y.value(), mean.value(),
                  rstd.value());
  return tape.record(y, [x, gamma, beta, y, mean, rstd] {
    // The calls of grad_input() have the order of the writes: two inputs may be one Var, and the
    // first write overwrites.
    const OutputView dx = x.grad_input(), dgamma = gamma.grad_input(), dbeta = beta.grad_input();
    ops::layer_norm_backward(x.value(), gamma.value(), mean.value(), rstd.value(), y.grad_output(),
                             dx, dgamma, dbeta);
  });
}

Var rms_norm(const Var& x, const Var& gamma, double eps) {
  Tape& tape = x.tape();
  require(gamma.shape().elements() > 0 && x.shape().cols() % gamma.shape().elements() == 0,
          "[rms_norm] rows of ", x.shape(), " do not divide into parts like gamma, ",
          gamma.shape());
  const Var y = tape.result("rms_norm", x.shape(), x.dtype(), {x, gamma});
  const Var rstd =
      tape.result("rms_norm", {x.shape().elements() / gamma.shape().elements()}, x.dtype(), {});
  ops::rms_norm(x.value(), gamma.value(), eps, y.value(), rstd.value());
  return tape.record(y, [x, gamma, y, rstd] {
    const OutputView dx = x.grad_input(), dgamma = gamma.grad_input();  // as in layer_norm()
    ops::rms_norm_backward(x.value(), gamma.value(), rstd.value(), y.grad_output(), dx, dgamma);
  });
}

namespace {
// Columns [first, first + count) of an output; empty if the output is.
OutputView columns_of(const OutputView& y, int64_t first, int64_t count) {
  return y.view ? OutputView{y.view.col_range(first, count), y.add} : y;
}
}  // namespace

Var rms_norm_columns(const Var& x, const NormedColumns& first, const NormedColumns& second,
                     double eps) {
  Tape& tape = x.tape();
  const char* const name = "rms_norm_columns";
  const int64_t rows = x.shape().rows(), cols = x.shape().cols(), end = first.count + second.count;
  require(end <= cols, "[", name, "] x of shape ", x.shape(), " has fewer columns than ", end);
  const Var y = tape.result(name, x.shape(), x.dtype(), {x, first.gamma, second.gamma});
  const auto norm = [&](const NormedColumns& part, int64_t begin) {
    if (part.count == 0) return Var();
    const int64_t size = std::max<int64_t>(1, part.gamma.shape().elements());
    const Var rstd = tape.result(name, {rows * part.count / size}, x.dtype(), {});
    ops::rms_norm(x.value().view().col_range(begin, part.count), part.gamma.value(), eps,
                  y.value().view().col_range(begin, part.count), rstd.value());
    return rstd;
  };
  const Var rstd1 = norm(first, 0), rstd2 = norm(second, first.count);
  if (end < cols)
    ops::copy(x.value().view().col_range(end, cols - end),
              y.value().view().col_range(end, cols - end));
  const Var gamma1 = first.gamma, gamma2 = second.gamma;
  const int64_t count1 = first.count, count2 = second.count;
  return tape.record(y, [=] {
    const OutputView dx = x.grad_input();
    const View value = x.value(), dy = y.grad_output();
    const auto backward = [&](const Var& gamma, const Var& rstd, int64_t begin, int64_t count) {
      if (count == 0) return;
      ops::rms_norm_backward(value.col_range(begin, count), gamma.value(), rstd.value(),
                             dy.col_range(begin, count), columns_of(dx, begin, count),
                             gamma.grad_input());
    };
    backward(gamma1, rstd1, 0, count1);
    backward(gamma2, rstd2, count1, count2);
    if (dx.view && end < cols)
      ops::scale(1, dy.col_range(end, cols - end), columns_of(dx, end, cols - end));
  });
}

Var rotary(const Var& x, const Tensor& angles, int64_t columns) {
  Tape& tape = x.tape();
  const int64_t rest = x.shape().cols() - columns;
  require(columns > 0 && rest >= 0, "[rotary] x of shape ", x.shape(), " has no ", columns,
          " columns to rotate");
  const Var y = tape.result("rotary", x.shape(), x.dtype(), {x}), kept = tape.constant(angles);
  const View from = x.value(), to = y.value();
  ops::rotary(from.col_range(0, columns), angles, false, {to.col_range(0, columns)});
  if (rest > 0) ops::copy(from.col_range(columns, rest), to.col_range(columns, rest));
  return tape.record(y, [x, y, kept, columns, rest] {
    const OutputView dx = x.grad_input();
    const View dy = y.grad_output();
    if (!dx.view) return;
    ops::rotary(dy.col_range(0, columns), kept.value(), true, columns_of(dx, 0, columns));
    if (rest > 0) ops::scale(1, dy.col_range(columns, rest), columns_of(dx, columns, rest));
  });
}

LstmOutput lstm(const Var& x, const LstmWeights& w, const LstmState& start) {
  Tape& tape = x.tape();
  const int64_t batch = start.h.shape().rows(), size = start.h.shape().cols(),
                rows = x.shape().rows();
  const std::initializer_list<Var> inputs = {x, w.w_ih, w.w_hh, w.b_ih, w.b_hh, start.h, start.c};
  const Var hidden = tape.result("lstm", {rows + batch, size}, x.dtype(), inputs),
            cells = tape.result("lstm", {rows + batch, size}, x.dtype(), inputs);
  const Var gates = tape.result("lstm", {rows, 4 * size}, x.dtype(), inputs);
  const auto io = [=] {
    return ops::Lstm{.x = x.value(),
                     .w_ih = w.w_ih.value(),
                     .w_hh = w.w_hh.value(),
                     .b_ih = w.b_ih.value(),
                     .b_hh = w.b_hh.value(),
                     .h0 = start.h.value(),
                     .c0 = start.c.value(),
                     .hidden = hidden.value(),
                     .cells = cells.value(),
                     .gates = gates.value()};
  };
  ops::lstm(io(), tape.arena());

  const auto part = [&](const Var& whole, int64_t first, int64_t count) {
    return tape.view_of(whole, whole.value().row_range(first, count));
  };
  const Var y = part(hidden, batch, rows), h_n = part(hidden, rows, batch),
            c_n = part(cells, rows, batch);
  // y, h_n and c_n share the memory of `hidden` and `cells`. `hidden` is an output too, so that its
  // memory, the first allocated here, is released together with theirs.
  tape.record({y, h_n, c_n, hidden}, [=] {
    ops::lstm_backward(io(),
                       {.dy = y.grad_output(),
                        .dh_n = h_n.grad_output(),
                        .dc_n = c_n.grad_output(),
                        .dx = x.grad_input(),
                        .dw_ih = w.w_ih.grad_input(),
                        .dw_hh = w.w_hh.grad_input(),
                        .db_ih = w.b_ih.grad_input(),
                        .db_hh = w.b_hh.grad_input(),
                        .dh0 = start.h.grad_input(),
                        .dc0 = start.c.grad_input()},
                       y.tape().arena());
  });
  return {y, {h_n, c_n}};
}

namespace {
// Columns [first, first + d) of x: the queries, keys or values of attention.
struct Columns {
  Var x;
  int64_t first, d;

  View value() const { return x.value().view().col_range(first, d); }
  OutputView of(const OutputView& whole) const {
    return whole.view ? OutputView{whole.view.col_range(first, d), whole.add} : whole;
  }
};

Var attend(const Columns& q, const Columns& k, const Columns& v, const AttentionShape& shape) {
  Tape& tape = q.x.tape();
  const DType dtype = q.x.dtype();
  const int64_t rows = q.x.shape().rows(), batch = shape.batch, heads = shape.heads;
  require(batch > 0 && heads > 0, "[attention] a batch of ", batch, " with ", heads,
          " heads: both must be at least 1");
  const Var y = tape.result("attention", {rows, q.d}, dtype, {q.x, k.x});
  const Var lse = tape.result("attention", {batch * heads, rows / batch}, dtype, {});
  const Var lengths = shape.lengths ? tape.constant(shape.lengths) : Var();
  const bool causal = shape.causal;
  const double dropout = tape.recording() ? shape.dropout : 0;
  const RandomKey key = dropout > 0 ? tape.random_key(shape.stream) : RandomKey{};
  const auto io = [=] {
    return ops::Attention{.q = q.value(),
                          .k = k.value(),
                          .v = v.value(),
                          .y = y.value(),
                          .lse = lse.value(),
                          .lengths = lengths ? lengths.value().view() : View{},
                          .batch = batch,
                          .heads = heads,
                          .causal = causal,
                          .dropout = dropout,
                          .key = key};
  };
  ops::attention(io());
  return tape.record(y, [=] {
    // Self-attention has queries, keys and values in one matrix, and one gradient for this matrix.
    const OutputView dq = q.x.grad_input(), dk = k.first == 0 ? k.x.grad_input() : dq;
    ops::attention_backward(
        io(), {.dy = y.grad_output(), .dq = q.of(dq), .dk = k.of(dk), .dv = v.of(dk)});
  });
}
}  // namespace

namespace {
// Requires a matrix with a row for each step of each sequence.
void check_rows(const char* what, const Var& x) {
  const Shape shape = x.shape();
  require(shape.rank() == 2, "[attention] ", what,
          " must be a matrix with a row for each step, not ", shape, ": reshape(x, {", shape.rows(),
          ", ", shape.cols(), "})");
}
}  // namespace

Var attention(const Var& qkv, const AttentionShape& shape) {
  check_rows("qkv", qkv);
  const int64_t heads = shape.heads, kv_heads = shape.kv_heads > 0 ? shape.kv_heads : heads;
  require(heads > 0 && heads % kv_heads == 0 && qkv.shape().cols() % (heads + 2 * kv_heads) == 0,
          "[attention] qkv of shape ", qkv.shape(),
          " is not queries, keys and values side by side, ", heads, " heads of queries and ",
          kv_heads, " of keys");
  const int64_t size = qkv.shape().cols() / (heads + 2 * kv_heads), d = heads * size,
                width = kv_heads * size;
  return attend({qkv, 0, d}, {qkv, d, width}, {qkv, d + width, width}, shape);
}

Var attention(const Var& q, const Var& kv, const AttentionShape& shape) {
  check_rows("q", q);
  check_rows("kv", kv);
  require(kv.shape().cols() % 2 == 0, "[attention] kv of shape ", kv.shape(),
          " is not keys and values side by side");
  const int64_t d = kv.shape().cols() / 2;
  return attend({q, 0, q.shape().cols()}, {kv, 0, d}, {kv, d, d}, shape);
}

Var attention(const Var& q, const Var& kv, const KeyLists& lists, int64_t heads,
              const Tensor& weights) {
  Tape& tape = q.tape();
  require(!tape.recording(), "[listed_attention] a step of decoding has no gradient: use NoGrad");
  const Var y = tape.result("listed_attention", q.shape(), q.dtype(), {q, kv});
  ops::listed_attention({.q = q.value(),
                         .keys_values = kv.value(),
                         .rows = lists.rows,
                         .first = lists.first,
                         .counts = lists.counts,
                         .y = y.value(),
                         .weights = weights ? weights.view() : View{},
                         .heads = heads});
  return tape.record(y, [] {});
}

Var softmax(const Var& x) {
  needs_floats("softmax", x);
  return exp(log_softmax(x));
}

Var log_softmax(const Var& x) {
  Tape& tape = x.tape();
  needs_floats("log_softmax", x);
  const Var y = tape.result("log_softmax", x.shape(), x.dtype(), {x});
  ops::log_softmax(x.value(), y.value());
  return tape.record(
      y, [x, y] { ops::log_softmax_backward(y.value(), y.grad_output(), x.grad_input()); });
}

Var nll(const Var& log_probs, const Tensor& given_targets, double row_weight) {
  Tape& tape = log_probs.tape();
  const Tensor targets = as_int32(tape, given_targets);
  const Var loss = tape.result("nll", {}, DType::float64, {log_probs});
  ops::nll(log_probs.value(), targets, row_weight, {loss.value()});
  const Var kept = tape.constant(targets);
  return tape.record(loss, [log_probs, kept, loss, row_weight] {
    ops::nll_backward(kept.value(), row_weight, loss.grad_output(), log_probs.zeroed_grad_input());
  });
}

int64_t count_targets(const Tensor& targets) {
  const auto counts = [](auto target) { return target >= 0; };
  if (targets.dtype() == DType::int32 && targets.device() == kCpu && targets.view().contiguous()) {
    const int32_t* first = targets.data<int32_t>();
    return std::count_if(first, first + targets.elements(), counts);
  }
  const std::vector<double> copied = targets.to_vector();
  return std::count_if(copied.begin(), copied.end(), counts);
}

namespace {
// Requires targets in [-1, classes), so that the message names cross_entropy(). ops::nll() reports
// wrong targets on a GPU.
void check_targets(const Tensor& targets, int64_t classes) {
  if (targets.device() != kCpu) return;
  const Tensor packed = targets.view().contiguous() ? targets : targets.clone();
  const auto check = [&](const auto* target) {
    for (int64_t i = 0; i < packed.elements(); ++i)
      require(target[i] >= -1 && target[i] < classes, "[cross_entropy] index ", target[i],
              " at position ", i, " is outside of [-1, ", classes, ")");
  };
  packed.dtype() == DType::int64 ? check(packed.data<int64_t>()) : check(packed.data<int32_t>());
}
}  // namespace

Var cross_entropy(const Var& logits, const Tensor& targets) {
  require(targets.elements() == logits.shape().rows(), "[cross_entropy] logits of shape ",
          logits.shape(), " and targets of shape ", targets.shape(),
          ": logits must be (n, V), and there must be one target for each row");
  require(targets.dtype() == DType::int32 || targets.dtype() == DType::int64,
          "[cross_entropy] targets must be int32 or int64, got ", targets.dtype());
  check_targets(targets, logits.shape().cols());
  const int64_t n = count_targets(targets);
  require(n > 0, "[cross_entropy] all of ", targets.elements(),
          " targets are -1: there is nothing to average");
  return nll(log_softmax(logits), logits.tape().on_device(targets), 1.0 / static_cast<double>(n));
}

Var mse_loss(const Var& x, const Var& target) {
  require(x.shape() == target.shape(), "[mse_loss] x has shape ", x.shape(),
          " but target has shape ", target.shape());
  return mean(square(sub(x, target)));
}

}  // namespace nine
