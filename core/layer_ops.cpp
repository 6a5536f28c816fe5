// Checks the views, counts the cost and calls the device's implementation of the ops of images, of
// a GRU and of binary cross-entropy.
#include <algorithm>

#include "core/op_checks.h"
#include "core/op_table.h"
#include "core/profile.h"

namespace nine::ops {

using namespace checks;
using profile::Scope;

namespace {

int64_t count_along(const char* what, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation) {
  if (kernel < 1 || stride < 1 || dilation < 1 || padding < 0)
    throw UsageError(concat("windows of kernel ", kernel, ", stride ", stride, ", padding ",
                            padding, " and dilation ", dilation, " along the ", what,
                            ": kernel, stride and dilation must be 1 or more, padding 0 or more"));
  const int64_t reach = dilation * (kernel - 1) + 1, room = size + 2 * padding - reach;
  if (room < 0)
    throw UsageError(concat(
        "windows of ", reach, " elements do not fit into a ", what, " of ", size, " with ", padding,
        " elements of padding at each end: choose a smaller kernel or dilation, "
        "or more padding"));
  return room / stride + 1;
}

Size2d plane_of(const View& x) { return {x.shape[2], x.shape[3]}; }

void is_image(const char* op, const char* what, const View& x) {
  is_given(op, what, x);
  require(x.shape.rank() == 4 && x.contiguous(), "[", op, "] ", what,
          " must be contiguous and (examples, channels, height, width), got ", x.shape);
}

void are_windows_of(const char* op, const char* what, const View& y, const View& x,
                    const Windows& windows) {
  const Size2d n = windows.count(plane_of(x));
  is_image(op, what, y);
  const Shape expected{x.shape[0], x.shape[1], n.height, n.width};
  require(y.shape == expected, "[", op, "] ", what, " must be ", expected, ", got ", y.shape);
}

void is_col_matrix(const char* op, const View& x, const Windows& windows, const View& cols) {
  const Size2d n = windows.count(plane_of(x));
  is_matrix(op, "cols", cols, x.shape[1] * windows.kernel.height * windows.kernel.width,
            x.shape[0] * n.height * n.width);
}

void has_small_padding(const char* op, const Windows& w) {
  require(2 * w.padding.height <= w.kernel.height && 2 * w.padding.width <= w.kernel.width, "[", op,
          "] a padding of (", w.padding.height, ", ", w.padding.width,
          ") is more than half of the kernel (", w.kernel.height, ", ", w.kernel.width, ")");
}

void check_pool(const char* op, const View& x, const View& y, const Windows& windows) {
  is_image(op, "x", x);
  same_kind(op, x, {&y});
  has_small_padding(op, windows);
  are_windows_of(op, "y", y, x, windows);
}

double window_elements(const Windows& w) {
  return static_cast<double>(w.kernel.height * w.kernel.width);
}

void has_no_dilation(const char* op, const Windows& w) {
  require(w.dilation == Size2d(1), "[", op, "] the windows of a mean have no dilation, got (",
          w.dilation.height, ", ", w.dilation.width, ")");
}

}  // namespace

Size2d Windows::count(const Size2d& plane) const {
  return {
      count_along("height", plane.height, kernel.height, stride.height, padding.height,
                  dilation.height),
      count_along("width", plane.width, kernel.width, stride.width, padding.width, dilation.width)};
}

void im2col(const View& x, const Windows& windows, const View& cols) {
  is_image("im2col", "x", x);
  same_kind("im2col", x, {&cols});
  is_col_matrix("im2col", x, windows, cols);
  Scope scope("im2col", 0, bytes(x, cols));
  op_table(x.device).im2col(x, windows, cols);
}

void col2im(const View& cols, const Windows& windows, const OutputView& x) {
  is_image("col2im", "x", x.view);
  same_kind("col2im", cols, {&x.view});
  is_col_matrix("col2im", x.view, windows, cols);
  Scope scope("col2im", count(cols), bytes(x.view, cols));
  op_table(cols.device).col2im(cols, windows, x);
}

void transpose_blocks(const View& x, int64_t first, const View& bias, const View& y) {
  const char* const op = "transpose_blocks";
  same_kind(op, x, {&bias, &y});
  require(first > 0 && x.rows() % first == 0, "[", op, "] rows of ", x.shape,
          " do not divide into ", first, " blocks of equal size");
  is_matrix(op, "y", y, x.rows(), x.cols());
  if (bias) has_elements(op, "bias", bias, first);
  Scope scope(op, count(x), bytes(x, y));
  op_table(x.device).transpose_blocks(x, first, bias, y);
}

void max_pool(const View& x, const Windows& windows, const View& y, const View& places) {
  check_pool("max_pool", x, y, windows);
  are_indices("max_pool", x, places, y.elements());
  Scope scope("max_pool", count(y) * window_elements(windows), bytes(x, y));
  op_table(x.device).max_pool(x, windows, y, places);
}

void max_pool_backward(const View& dy, const View& places, const Windows& windows,
                       const OutputView& dx) {
  const char* const op = "max_pool_backward";
  check_pool(op, dx.view, dy, windows);
  are_indices(op, dy, places, dy.elements());
  Scope scope(op, count(dy), bytes(dy, dx.view));
  op_table(dy.device).max_pool_backward(dy, places, windows, dx);
}

void avg_pool(const View& x, const Windows& windows, bool count_padding, const View& y) {
  has_no_dilation("avg_pool", windows);
  check_pool("avg_pool", x, y, windows);
  Scope scope("avg_pool", count(y) * window_elements(windows), bytes(x, y));
  op_table(x.device).avg_pool(x, windows, count_padding, y);
}

void avg_pool_backward(const View& dy, const Windows& windows, bool count_padding,
                       const OutputView& dx) {
  const char* const op = "avg_pool_backward";
  has_no_dilation(op, windows);
  check_pool(op, dx.view, dy, windows);
  Scope scope(op, count(dy) * window_elements(windows), bytes(dy, dx.view));
  op_table(dy.device).avg_pool_backward(dy, windows, count_padding, dx);
}

namespace {
void check_channel_norm(const char* op, const ChannelNorm& io, const View& y) {
  same_shape(op, "x", io.x, "y", y);
  require(io.x.shape.rank() >= 2 && io.x.elements() > 0 && io.x.contiguous() && y.contiguous(), "[",
          op, "] x must be contiguous and (examples, channels, ...) with elements, got ",
          io.x.shape);
  require(io.groups >= 0 && (io.groups == 0 || io.channels() % io.groups == 0), "[", op, "] ",
          io.channels(), " channels do not divide into ", io.groups, " groups");
  same_kind(op, io.x, {&io.gamma, &io.beta, &y});
  has_elements(op, "gamma", io.gamma, io.channels());
  has_elements(op, "beta", io.beta, io.channels());
  for (const View* v : {&io.mean, &io.variance}) {
    same_device(op, io.x, *v);
    has_elements(op, "mean and variance", *v, io.sets());
    require(v->dtype == DType::float64, "[", op, "] mean and variance are float64, got ", v->dtype);
  }
}
}  // namespace

void channel_norm(const ChannelNorm& io, const View& y) {
  check_channel_norm("channel_norm", io, y);
  Scope scope("channel_norm", 8 * count(io.x), bytes(io.x, y));
  op_table(io.x.device).channel_norm(io, y);
}

void channel_norm_backward(const ChannelNorm& io, const View& dy, const OutputView& dx,
                           const OutputView& dgamma, const OutputView& dbeta) {
  const char* const op = "channel_norm_backward";
  check_channel_norm(op, io, dy);
  same_kind(op, io.x, {&dx.view, &dgamma.view, &dbeta.view});
  if (dx.view) {
    same_shape(op, "x", io.x, "dx", dx.view);
    require(dx.view.contiguous(), "[", op, "] dx must be contiguous");
  }
  if (dgamma.view) has_elements(op, "dgamma", dgamma.view, io.channels());
  if (dbeta.view) has_elements(op, "dbeta", dbeta.view, io.channels());
  Scope scope(op, 14 * count(io.x), 3 * bytes(io.x));
  op_table(io.x.device).channel_norm_backward(io, dy, dx, dgamma, dbeta);
}

void gru_cell(const GruCell& io) {
  const int64_t b = io.h.rows(), size = io.h.cols();
  same_kind("gru_cell", io.h, {&io.from_x, &io.from_h, &io.y, &io.gates});
  same_shape("gru_cell", "h", io.h, "y", io.y);
  is_matrix("gru_cell", "from_x", io.from_x, b, 3 * size);
  is_matrix("gru_cell", "from_h", io.from_h, b, 3 * size);
  is_matrix("gru_cell", "gates", io.gates, b, 3 * size);
  Scope scope("gru_cell", 40 * count(io.h), bytes(io.h, io.from_x, io.from_h, io.y, io.gates));
  op_table(io.h.device).gru_cell(io);
}

void gru_cell_backward(const GruCell& io, const View& dy, const View& dh) {
  const char* const op = "gru_cell_backward";
  const int64_t b = io.h.rows(), size = io.h.cols();
  same_kind(op, io.h, {&io.from_h, &io.gates, &dy, &dh});
  same_shape(op, "h", io.h, "dy", dy);
  same_shape(op, "h", io.h, "dh", dh);
  is_matrix(op, "from_h", io.from_h, b, 3 * size);
  is_matrix(op, "gates", io.gates, b, 3 * size);
  Scope scope(op, 20 * count(io.h), bytes(io.h, io.from_h, io.gates, dy, dh));
  op_table(io.h.device).gru_cell_backward(io, dy, dh);
}

void logistic_loss(const View& x, const View& t, const View& y) {
  const char* const op = "logistic_loss";
  same_shape(op, "x", x, "t", t);
  same_shape(op, "x", x, "y", y);
  same_kind(op, x, {&t, &y});
  Scope scope(op, 30 * count(x), bytes(x, t, y));
  op_table(x.device).logistic_loss(x, t, y);
}

void logistic_loss_backward(const View& x, const View& t, const View& dy, const OutputView& dx,
                            const OutputView& dt) {
  const char* const op = "logistic_loss_backward";
  same_shape(op, "x", x, "t", t);
  same_shape(op, "x", x, "dy", dy);
  if (dx.view) same_shape(op, "x", x, "dx", dx.view);
  if (dt.view) same_shape(op, "x", x, "dt", dt.view);
  same_kind(op, x, {&t, &dy, &dx.view, &dt.view});
  Scope scope(op, 20 * count(x), bytes(x, t, dy));
  op_table(x.device).logistic_loss_backward(x, t, dy, dx, dt);
}

}  // namespace nine::ops
