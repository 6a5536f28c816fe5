// Convolutions of sequences and images.
#pragma once

#include <string>

#include "autograd/image_functions.h"
#include "nn/parameters.h"

namespace nine {

/// Computes conv2d() as torch.nn.Conv2d: `NAME.weight` (out, in / groups, kernel height, kernel
/// width) and `NAME.bias` (out). Both start as U(-1/sqrt(n), 1/sqrt(n)), where n = in / groups *
/// the kernel's elements.
///
///   Conv2d conv(parameters, "conv", 3, 16, 5, {.stride = 2, .padding = 2});
class Conv2d {
 public:
  /// Declares the parameters. Errors: sizes below 1; `groups` does not divide `in` and `out`.
  Conv2d(ParameterSet& set, const std::string& name, int64_t in, int64_t out, Size2d kernel,
         const Conv2dOptions& options = {}, bool bias = true);

  /// Maps x (N, in, H, W) to (N, out, OH, OW).
  Var operator()(const Var& x) const;

  Parameter& weight() const { return weight_; }
  Parameter* bias() const { return bias_; }  ///< null without a bias

 private:
  Conv2dOptions options_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

/// Computes conv1d() as torch.nn.Conv1d: `NAME.weight` (out, in / groups, kernel) and `NAME.bias`
/// (out), which start as those of Conv2d.
class Conv1d {
 public:
  /// Declares the parameters. Errors: sizes below 1; `groups` does not divide `in` and `out`.
  Conv1d(ParameterSet& set, const std::string& name, int64_t in, int64_t out, int64_t kernel,
         const Conv1dOptions& options = {}, bool bias = true);

  /// Maps x (N, in, L) to (N, out, OL).
  Var operator()(const Var& x) const;

  Parameter& weight() const { return weight_; }
  Parameter* bias() const { return bias_; }  ///< null without a bias

 private:
  Conv1dOptions options_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace nine
