// Differentiable functions of images and of sequences with channels: convolution, pooling, batch
// norm and group norm. An image is (N, C, H, W): examples, channels, rows, columns, as in PyTorch.
// Values, gradients and weights have PyTorch's layout. See autograd/functions.h for conventions.
//
//   Var h = relu(conv2d(x, weight, bias, {.padding = 1}));  // x (N, 3, 32, 32)
//   Var y = max_pool(h, {.kernel = 2});                     // (N, C, 16, 16)
#pragma once

#include "autograd/functions.h"
#include "core/ops.h"

namespace nine {

using ops::Size2d;

/// The settings of conv2d(); a number stands for both axes.
struct Conv2dOptions {
  Size2d stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;  ///< the channels are cut into so many groups, each with its own kernels
};
/// The settings of conv1d().
struct Conv1dOptions {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
/// Computes the cross-correlation y[n, o] = b[o] + sum over c of w[o, c] * x[n, c], as PyTorch's
/// conv2d: x (N, C, H, W), w (O, C / groups, kernel height, kernel width), b (O) or an empty Var, y
/// (N, O, OH, OW), where OH = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, and
/// OW likewise. Padding is 0. Errors: N = 0; `groups` does not divide C and O; w does not fit x;
/// the kernel does not fit into the padded image.
Var conv2d(const Var& x, const Var& w, const Var& b = {}, const Conv2dOptions& options = {});
/// Computes the same along one axis: x (N, C, L), w (O, C / groups, kernel), y (N, O, OL).
Var conv1d(const Var& x, const Var& w, const Var& b = {}, const Conv1dOptions& options = {});

/// The settings of max_pool() and avg_pool(). For x (N, C, L), the widths are used and the heights
/// are not.
struct PoolOptions {
  Size2d kernel = 2;
  Size2d stride = 0;          ///< 0 along both axes: the kernel
  Size2d padding = 0;         ///< at most half of the kernel
  Size2d dilation = 1;        ///< max_pool only
  bool count_padding = true;  ///< avg_pool: the mean counts padding as zeros
};
/// Computes the largest element of each window: y (N, C, OH, OW) of x (N, C, H, W), or y (N, C, OL)
/// of x (N, C, L). OH, OW and OL are as in conv2d(). dy goes to that element, the first one of
/// equal elements. Padding is never the largest. Errors: those of ops::Windows::count() and
/// ops::max_pool().
Var max_pool(const Var& x, const PoolOptions& options = {});
/// Computes the mean of each window; shapes as in max_pool(). Errors: those of
/// ops::Windows::count() and ops::avg_pool().
Var avg_pool(const Var& x, const PoolOptions& options = {});

/// Computes (x - mean) / sqrt(variance + eps) * gamma + beta, where mean and variance are over the
/// examples and the planes of a channel (Ioffe & Szegedy, 2015): x (N, C, ...), gamma and beta (C).
/// The gradient goes through mean and variance. `mean` and `variance` (float64, C, on the tape's
/// device) are outputs; the variance divides by the number of elements. backward() reads both, so
/// they must not change until then. Error: a channel has a single element.
Var batch_norm(const Var& x, const Var& gamma, const Var& beta, const Tensor& mean,
               const Tensor& variance, double eps = 1e-5);
/// Computes the same with the given `mean` and `variance` (float64, C), which are constants: the
/// gradient does not go through them. backward() reads both.
Var batch_norm_given(const Var& x, const Var& gamma, const Var& beta, const Tensor& mean,
                     const Tensor& variance, double eps = 1e-5);
/// Computes batch_norm()'s formula with a mean and a variance for each example and each of `groups`
/// groups of channels (Wu & He, 2018). The gradient goes through mean and variance. groups = C is
/// instance norm. Error: `groups` does not divide the channels.
Var group_norm(const Var& x, int64_t groups, const Var& gamma, const Var& beta, double eps = 1e-5);

}  // namespace nine
