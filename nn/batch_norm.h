// Normalisation of each channel over a batch.
#pragma once

#include <string>

#include "autograd/image_functions.h"
#include "nn/parameters.h"

namespace nine {

/// Computes (x - mean) / sqrt(variance + eps) * weight + bias for each channel (Ioffe & Szegedy,
/// 2015), as torch.nn.BatchNorm1d and BatchNorm2d: `NAME.weight` (channels) starts at 1,
/// `NAME.bias` at 0. The buffers `NAME.running_mean` and `NAME.running_var` (float64, at first 0
/// and 1) are saved with the model; a file's `NAME.num_batches_tracked` is ignored.
///
/// While the tape records, mean and variance are those of the batch. Each call then moves the
/// running statistics by `momentum` towards them; the running variance divides by n - 1. This
/// includes each micro-batch, and a step that is repeated after a loss that is not finite. Inside
/// of recomputed(), which no installed header defines, a call moves them twice, because the
/// backward pass calls the layer again. Under NoGrad, the running statistics are the mean and the
/// variance, and do not change.
class BatchNorm {
 public:
  struct Options {
    double eps = 1e-5, momentum = 0.1;
  };

  BatchNorm(ParameterSet& set, const std::string& name, int64_t channels)
      : BatchNorm(set, name, channels, Options{}) {}
  BatchNorm(ParameterSet& set, const std::string& name, int64_t channels, const Options& options);

  /// Normalises x (N, channels, ...); returns the same shape. Error: while the tape records, a
  /// channel has a single element.
  Var operator()(const Var& x) const;

  /// With `on`, the layer normalises by the running statistics also while the tape records, and
  /// leaves them as they are: for training the rest of a network whose statistics are known.
  void use_running_statistics(bool on) { always_running_ = on; }

 private:
  ParameterSet& set_;
  Parameter &weight_, &bias_;
  std::string mean_, variance_;  // names of the buffers
  Options options_;
  bool always_running_ = false;
};

}  // namespace nine
