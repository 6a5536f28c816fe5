#include "autograd/gru.h"

#include "core/ops.h"

namespace nine {

Var gru(const Var& from_x, const Var& w_hh, const Var& b_hh, const Var& h0) {
  Tape& tape = from_x.tape();
  const int64_t batch = h0.shape().rows(), size = h0.shape().cols(), rows = from_x.shape().rows();
  require(h0.shape().rank() == 2 && batch > 0 && rows > 0 && rows % batch == 0, "[gru] ", rows,
          " rows of input are not whole time steps of a state of shape ", h0.shape());
  require(from_x.shape().cols() == 3 * size && w_hh.shape() == Shape{3 * size, size} &&
              b_hh.shape() == Shape{3 * size},
          "[gru] for a state of ", size, " numbers from_x must have ", 3 * size,
          " columns, w_hh must be ", Shape{3 * size, size}, " and b_hh ", Shape{3 * size}, "; got ",
          from_x.shape(), ", ", w_hh.shape(), " and ", b_hh.shape());
  const std::initializer_list<Var> inputs = {from_x, w_hh, b_hh, h0};
  const Var y = tape.result("gru", {rows, size}, h0.dtype(), inputs),
            gates = tape.result("gru", {rows, 3 * size}, h0.dtype(), inputs),
            from_h = tape.result("gru", {rows, 3 * size}, h0.dtype(), inputs);
  // Returns the views of the step whose first row is `row`.
  const auto step = [=](int64_t row) {
    return ops::GruCell{
        .from_x = from_x.value().view().reshaped({rows, 3 * size}).row_range(row, batch),
        .from_h = from_h.value().row_range(row, batch),
        .h = row == 0 ? h0.value().view() : y.value().view().row_range(row - batch, batch),
        .y = y.value().row_range(row, batch),
        .gates = gates.value().row_range(row, batch)};
  };
  for (int64_t row = 0; row < rows; row += batch) {
    const ops::GruCell io = step(row);
    ops::linear(io.h, w_hh.value(), b_hh.value(), false, io.from_h);
    ops::gru_cell(io);
  }
  // `gates` and `from_h` are outputs too, so that their memory is released together with y's.
  return tape.record({y, gates, from_h}, [=] {
    Arena& arena = y.tape().arena();
    const OutputView dx = from_x.grad_input(), dw = w_hh.grad_input(), db = b_hh.grad_input(),
                     dh0 = h0.grad_input();
    const Arena::Scope scope(arena);
    const Tensor dy = arena.temporary({batch, size}, h0.dtype()),
                 dh = arena.temporary({batch, size}, h0.dtype());
    for (int64_t row = rows - batch; row >= 0; row -= batch) {
      // dy: of this step's result, from the loss and from the next step.
      const View up = y.grad_output().row_range(row, batch);
      if (row + batch < rows) {
        ops::binary(ops::Binary::add, up, dh, {dy});
      } else {
        ops::scale(1, up, {dy});
      }
      const ops::GruCell io = step(row);
      ops::gru_cell_backward(io, dy, dh);
      ops::matmul(io.from_h, false, w_hh.value(), false, {dh, true});
    }
    const View dgates = gates.value(), dfrom_h = from_h.value();
    if (dx.view) ops::scale(1, dgates.reshaped(dx.view.shape), dx);
    if (dw.view) {
      ops::matmul(dfrom_h.row_range(0, batch), true, h0.value(), false, dw);
      if (rows > batch)
        ops::matmul(dfrom_h.row_range(batch, rows - batch), true,
                    y.value().row_range(0, rows - batch), false, {dw.view, true});
    }
    if (db.view) ops::column_sums(dfrom_h, db);
    if (dh0.view) ops::scale(1, dh, dh0);
  });
}

}  // namespace nine
