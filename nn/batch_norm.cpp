#include "nn/batch_norm.h"

#include "core/ops.h"

namespace nine {

BatchNorm::BatchNorm(ParameterSet& set, const std::string& name, int64_t channels,
                     const Options& options)
    : set_(set),
      weight_(set.add(name + ".weight", {channels}, Init::ones())),
      bias_(set.add(name + ".bias", {channels}, Init::zeros())),
      mean_(name + ".running_mean"),
      variance_(name + ".running_var"),
      options_(options) {
  set.add_movable_buffer(mean_, {channels}, 0);
  set.add_movable_buffer(variance_, {channels}, 1);
  set.ignore_on_load(name + ".num_batches_tracked");
}

Var BatchNorm::operator()(const Var& x) const {
  Tape& tape = x.tape();
  const Var weight = tape.parameter(weight_), bias = tape.parameter(bias_);
  const Tensor running_mean = set_.buffer(mean_), running_variance = set_.buffer(variance_);
  if (always_running_ || !tape.recording())
    return batch_norm_given(x, weight, bias, running_mean, running_variance, options_.eps);

  const Shape channels = running_mean.shape();
  const Var mean = tape.result("batch_norm", channels, DType::float64, {}),
            variance = tape.result("batch_norm", channels, DType::float64, {}),
            unbiased = tape.result("batch_norm", channels, DType::float64, {});
  const Var y = batch_norm(x, weight, bias, mean.value(), variance.value(), options_.eps);
  const int64_t of_channel = x.shape().elements() / channels.elements();
  const auto n = static_cast<double>(of_channel);
  ops::scale(n / (n - 1), variance.value(), {unbiased.value()});
  ops::average(running_mean, mean.value(), options_.momentum);
  ops::average(running_variance, unbiased.value(), options_.momentum);
  return y;
}

}  // namespace nine
