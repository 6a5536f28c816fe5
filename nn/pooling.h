// Pooling of images and sequences, as layers.
#pragma once

#include "autograd/image_functions.h"

namespace nine {

/// Computes max_pool() with these options: torch.nn.MaxPool2d of x (N, C, H, W), and MaxPool1d of x
/// (N, C, L), which uses Size2d::width of each option and ignores Size2d::height.
///
///   const MaxPool pool{{.kernel = 3, .stride = 2, .padding = 1}};
struct MaxPool {
  PoolOptions options = {};
  Var operator()(const Var& x) const { return max_pool(x, options); }
};

/// Computes avg_pool() with these options: torch.nn.AvgPool2d or AvgPool1d. A kernel of the image's
/// size gives the mean of each channel.
struct AvgPool {
  PoolOptions options = {};
  Var operator()(const Var& x) const { return avg_pool(x, options); }
};

}  // namespace nine
