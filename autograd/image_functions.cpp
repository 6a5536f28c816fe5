#include "autograd/image_functions.h"

#include <algorithm>

namespace nine {
namespace {

// A convolution of images (n, channels, plane) with O kernels. All views of a call have four
// dimensions, whatever the rank of the Vars.
struct Convolution {
  int64_t n, channels, outputs, groups;
  Size2d plane, windows_of_plane;
  ops::Windows windows;

  int64_t positions() const { return windows_of_plane.height * windows_of_plane.width; }
  int64_t elements() const { return channels * plane.height * plane.width; }
  int64_t rows_of_group() const {
    return channels / groups * windows.kernel.height * windows.kernel.width;
  }
  // Returns how many images are multiplied at a time, so that the matrix of their windows is small
  // enough for the cache, and on a GPU for its memory. Depends on shapes only.
  int64_t images_at_once(Device device) const {
    const int64_t most = device.kind == DeviceKind::cpu ? int64_t{1} << 18 : int64_t{1} << 27,
                  each = std::max<int64_t>(1, groups * rows_of_group() * positions());
    return std::clamp<int64_t>(most / each, 1, n);
  }
  // Returns `count` images from image `first` on.
  View images(const View& all, int64_t first, int64_t count) const {
    return all.reshaped({n, elements()})
        .row_range(first, count)
        .reshaped({count, channels, plane.height, plane.width});
  }
  // Returns the outputs of these images, a row for each image and channel.
  View results(const View& all, int64_t first, int64_t count) const {
    return all.reshaped({n * outputs, positions()}).row_range(first * outputs, count * outputs);
  }
  // Returns the part of group g: of the matrix of kernels or of results, and of windows.
  View of_outputs(const View& matrix, int64_t g) const {
    return matrix.row_range(g * (outputs / groups), outputs / groups);
  }
  View of_windows(const View& cols, int64_t g) const {
    return cols.row_range(g * rows_of_group(), rows_of_group());
  }
};

// The memory of a chunk of images: the matrix of windows, and the results with a row a channel.
struct Chunk {
  Tensor cols, products;
  Chunk(Arena& arena, const Convolution& c, int64_t images, DType dtype)
      : cols(arena.temporary({c.groups * c.rows_of_group(), images * c.positions()}, dtype)),
        products(arena.temporary({c.outputs, images * c.positions()}, dtype)) {}
};

void convolve(const Convolution& c, const View& x, const View& w, const View& b, const View& y,
              Arena& arena) {
  const View kernels = w.reshaped({c.outputs, c.rows_of_group()});
  const int64_t most = c.images_at_once(x.device);
  for (int64_t first = 0; first < c.n; first += most) {
    const int64_t count = std::min(most, c.n - first);
    const Arena::Scope scope(arena);
    const Chunk chunk(arena, c, count, x.dtype);
    ops::im2col(c.images(x, first, count), c.windows, chunk.cols);
    for (int64_t g = 0; g < c.groups; ++g)
      ops::matmul(c.of_outputs(kernels, g), false, c.of_windows(chunk.cols, g), false,
                  {c.of_outputs(chunk.products, g)});
    ops::transpose_blocks(chunk.products.view().reshaped({c.outputs * count, c.positions()}),
                          c.outputs, b, c.results(y, first, count));
  }
}

void convolve_backward(const Convolution& c, const View& x, const View& w, const View& dy,
                       const OutputView& dx, const OutputView& dw, const OutputView& db,
                       Arena& arena) {
  const View kernels = w.reshaped({c.outputs, c.rows_of_group()});
  const int64_t most = c.images_at_once(x.device);
  for (int64_t first = 0; first < c.n; first += most) {
    const int64_t count = std::min(most, c.n - first);
    const Arena::Scope scope(arena);
    const Chunk chunk(arena, c, count, x.dtype);
    ops::transpose_blocks(c.results(dy, first, count), count, {},
                          chunk.products.view().reshaped({c.outputs * count, c.positions()}));
    const auto added = [&](const OutputView& to) { return to.add || first > 0; };
    if (db.view) {
      const Tensor ones = arena.temporary({count * c.positions(), 1}, x.dtype);
      ops::fill(ones, 1);
      ops::matmul(chunk.products, false, ones, false,
                  {db.view.reshaped({c.outputs, 1}), added(db)});
    }
    if (dw.view) {
      ops::im2col(c.images(x, first, count), c.windows, chunk.cols);
      const View to = dw.view.reshaped({c.outputs, c.rows_of_group()});
      for (int64_t g = 0; g < c.groups; ++g)
        ops::matmul(c.of_outputs(chunk.products, g), false, c.of_windows(chunk.cols, g), true,
                    {c.of_outputs(to, g), added(dw)});
    }
    if (dx.view) {
      for (int64_t g = 0; g < c.groups; ++g)
        ops::matmul(c.of_outputs(kernels, g), true, c.of_outputs(chunk.products, g), false,
                    {c.of_windows(chunk.cols, g)});
      ops::col2im(chunk.cols, c.windows, {c.images(dx.view, first, count), dx.add});
    }
  }
}

// Records a convolution whose result has `shape`.
Var record_convolution(const char* op, const Convolution& c, const Shape& shape, const Var& x,
                       const Var& w, const Var& b) {
  Tape& tape = x.tape();
  const Var y = tape.result(op, shape, x.dtype(), {x, w, b});
  convolve(c, x.value(), w.value(), b ? b.value().view() : View{}, y.value(), tape.arena());
  return tape.record(y, [c, x, w, b, y] {
    const OutputView dx = x.grad_input(), dw = w.grad_input(),
                     db = b ? b.grad_input() : OutputView{};
    convolve_backward(c, x.value(), w.value(), y.grad_output(), dx, dw, db, y.tape().arena());
  });
}

// Checks the shapes of a convolution over `axes` axes.
void check_convolution(const char* op, const Var& x, const Var& w, const Var& b, int64_t groups,
                       int axes) {
  const Shape s = x.shape(), k = w.shape();
  require(s.rank() == axes + 2 && k.rank() == axes + 2, "[", op, "] x must be (N, C, ",
          axes == 1 ? "L" : "H, W", ") and the kernels (O, C / groups, ",
          axes == 1 ? "K" : "KH, KW", "), got ", s, " and ", k);
  require(s[0] >= 1, "[", op, "] x of shape ", s, " has no examples");
  require(groups >= 1 && s[1] % groups == 0 && k[0] % groups == 0, "[", op, "] ", groups,
          " groups do not divide ", s[1], " channels and ", k[0], " outputs");
  require(k[1] == s[1] / groups, "[", op, "] kernels of shape ", k, " do not fit x of shape ", s,
          " in ", groups, " groups: the second size must be ", s[1] / groups);
  require((b ? b.shape() : Shape{k[0]}) == Shape{k[0]}, "[", op, "] the bias must be (", k[0],
          "), got ", b ? b.shape() : Shape());
}

}  // namespace

Var conv2d(const Var& x, const Var& w, const Var& b, const Conv2dOptions& options) {
  check_convolution("conv2d", x, w, b, options.groups, 2);
  const Shape s = x.shape(), k = w.shape();
  Convolution c{.n = s[0], .channels = s[1], .outputs = k[0], .groups = options.groups};
  c.plane = {s[2], s[3]};
  c.windows = {{k[2], k[3]}, options.stride, options.padding, options.dilation};
  c.windows_of_plane = c.windows.count(c.plane);
  return record_convolution(
      "conv2d", c, {c.n, c.outputs, c.windows_of_plane.height, c.windows_of_plane.width}, x, w, b);
}

Var conv1d(const Var& x, const Var& w, const Var& b, const Conv1dOptions& options) {
  check_convolution("conv1d", x, w, b, options.groups, 1);
  const Shape s = x.shape(), k = w.shape();
  Convolution c{.n = s[0], .channels = s[1], .outputs = k[0], .groups = options.groups};
  c.plane = {1, s[2]};
  c.windows = {{1, k[2]}, {1, options.stride}, {0, options.padding}, {1, options.dilation}};
  c.windows_of_plane = c.windows.count(c.plane);
  return record_convolution("conv1d", c, {c.n, c.outputs, c.windows_of_plane.width}, x, w, b);
}

namespace {

// A pooling of x, whose views get four dimensions.
struct Pooling {
  ops::Windows windows;
  Shape image, result;  // with four dimensions
  Shape shape;          // of the result, in x's rank
};

Pooling pooling(const char* op, const Var& x, const PoolOptions& o) {
  const Shape s = x.shape();
  require(s.rank() == 3 || s.rank() == 4, "[", op, "] x must be (N, C, H, W) or (N, C, L), got ",
          s);
  const bool flat = s.rank() == 3;
  Pooling p;
  p.windows = {o.kernel, o.stride == Size2d(0) ? o.kernel : o.stride, o.padding, o.dilation};
  if (flat) {
    p.windows.kernel.height = p.windows.stride.height = p.windows.dilation.height = 1;
    p.windows.padding.height = 0;
  }
  p.image = flat ? Shape{s[0], s[1], 1, s[2]} : s;
  const Size2d n = p.windows.count({p.image[2], p.image[3]});
  p.result = {s[0], s[1], n.height, n.width};
  p.shape = flat ? Shape{s[0], s[1], n.width} : p.result;
  return p;
}

// Returns the view with four dimensions; an empty view stays empty.
OutputView reshaped(const OutputView& v, const Shape& shape) {
  return v.view ? OutputView{v.view.reshaped(shape), v.add} : v;
}

}  // namespace

Var max_pool(const Var& x, const PoolOptions& options) {
  Tape& tape = x.tape();
  const Pooling p = pooling("max_pool", x, options);
  const Var y = tape.result("max_pool", p.shape, x.dtype(), {x}),
            places = tape.result("max_pool", p.result, DType::int32, {});
  ops::max_pool(x.value().reshaped(p.image), p.windows, y.value().reshaped(p.result),
                places.value());
  return tape.record(y, [x, y, places, p] {
    ops::max_pool_backward(y.grad_output().reshaped(p.result), places.value(), p.windows,
                           reshaped(x.grad_input(), p.image));
  });
}

Var avg_pool(const Var& x, const PoolOptions& options) {
  Tape& tape = x.tape();
  const Pooling p = pooling("avg_pool", x, options);
  const bool count_padding = options.count_padding;
  const Var y = tape.result("avg_pool", p.shape, x.dtype(), {x});
  ops::avg_pool(x.value().reshaped(p.image), p.windows, count_padding,
                y.value().reshaped(p.result));
  return tape.record(y, [x, y, p, count_padding] {
    ops::avg_pool_backward(y.grad_output().reshaped(p.result), p.windows, count_padding,
                           reshaped(x.grad_input(), p.image));
  });
}

namespace {

void check_channels(const char* op, const Var& x, const Var& gamma, const Var& beta) {
  const Shape s = x.shape();
  require(s.rank() >= 2, "[", op, "] x must be (N, C, ...), got ", s);
  require(gamma.shape() == Shape{s[1]} && beta.shape() == Shape{s[1]}, "[", op,
          "] gamma and beta must be (", s[1], "), got ", gamma.shape(), " and ", beta.shape());
}

// The statistics are Vars without a gradient.
Var normalise(const char* op, const Var& x, const Var& gamma, const Var& beta, const Var& mean,
              const Var& variance, int64_t groups, double eps, bool given) {
  Tape& tape = x.tape();
  const Var y = tape.result(op, x.shape(), x.dtype(), {x, gamma, beta});
  const auto io = [=] {
    return ops::ChannelNorm{.x = x.value(),
                            .gamma = gamma.value(),
                            .beta = beta.value(),
                            .mean = mean.value(),
                            .variance = variance.value(),
                            .groups = groups,
                            .eps = eps,
                            .given = given};
  };
  ops::channel_norm(io(), y.value());
  return tape.record(y, [x, gamma, beta, y, io] {
    const OutputView dx = x.grad_input(), dgamma = gamma.grad_input(), dbeta = beta.grad_input();
    ops::channel_norm_backward(io(), y.grad_output(), dx, dgamma, dbeta);
  });
}

}  // namespace

Var batch_norm(const Var& x, const Var& gamma, const Var& beta, const Tensor& mean,
               const Tensor& variance, double eps) {
  check_channels("batch_norm", x, gamma, beta);
  const Shape s = x.shape();
  require(s[1] == 0 || s.elements() / s[1] > 1, "[batch_norm] x of shape ", s,
          " has a single element for each channel, which has no variance: use a larger batch, or "
          "batch_norm_given() with the running statistics");
  Tape& tape = x.tape();
  return normalise("batch_norm", x, gamma, beta, tape.constant(mean), tape.constant(variance), 0,
                   eps, false);
}

Var batch_norm_given(const Var& x, const Var& gamma, const Var& beta, const Tensor& mean,
                     const Tensor& variance, double eps) {
  check_channels("batch_norm_given", x, gamma, beta);
  Tape& tape = x.tape();
  return normalise("batch_norm_given", x, gamma, beta, tape.constant(mean), tape.constant(variance),
                   0, eps, true);
}

Var group_norm(const Var& x, int64_t groups, const Var& gamma, const Var& beta, double eps) {
  check_channels("group_norm", x, gamma, beta);
  const int64_t channels = x.shape()[1];
  require(groups >= 1 && channels % groups == 0, "[group_norm] ", channels,
          " channels do not divide into ", groups, " groups");
  Tape& tape = x.tape();
  const Shape sets{x.shape()[0] * groups};
  const Var mean = tape.result("group_norm", sets, DType::float64, {}),
            variance = tape.result("group_norm", sets, DType::float64, {});
  return normalise("group_norm", x, gamma, beta, mean, variance, groups, eps, false);
}

}  // namespace nine
