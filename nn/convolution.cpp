#include "nn/convolution.h"

#include <algorithm>

namespace nine {
namespace {

// Declares the kernels.
Parameter& add_kernels(ParameterSet& set, const std::string& name, int64_t in, int64_t out,
                       int64_t groups, const Shape& shape) {
  require(in >= 1 && out >= 1 && groups >= 1 && in % groups == 0 && out % groups == 0,
          "convolution ", name, ": ", groups, " groups do not divide ", in, " inputs and ", out,
          " outputs");
  require(shape.elements() > 0, "convolution ", name, ": kernels of shape ", shape,
          " have no elements");
  return set.add(name + ".weight", shape, Init::fan_in(shape.elements() / out));
}

// `inputs`: the elements of a kernel.
Parameter* add_bias(ParameterSet& set, const std::string& name, int64_t out, int64_t inputs,
                    bool bias) {
  return bias ? &set.add(name + ".bias", {out}, Init::fan_in(inputs)) : nullptr;
}

Var on(Tape& tape, Parameter* p) { return p != nullptr ? tape.parameter(*p) : Var(); }

}  // namespace

Conv2d::Conv2d(ParameterSet& set, const std::string& name, int64_t in, int64_t out, Size2d kernel,
               const Conv2dOptions& options, bool bias)
    : options_(options),
      weight_(add_kernels(
          set, name, in, out, options.groups,
          {out, in / std::max<int64_t>(1, options.groups), kernel.height, kernel.width})),
      bias_(add_bias(set, name, out, in / options.groups * kernel.height * kernel.width, bias)) {}

Var Conv2d::operator()(const Var& x) const {
  return conv2d(x, x.tape().parameter(weight_), on(x.tape(), bias_), options_);
}

Conv1d::Conv1d(ParameterSet& set, const std::string& name, int64_t in, int64_t out, int64_t kernel,
               const Conv1dOptions& options, bool bias)
    : options_(options),
      weight_(add_kernels(set, name, in, out, options.groups,
                          {out, in / std::max<int64_t>(1, options.groups), kernel})),
      bias_(add_bias(set, name, out, in / options.groups * kernel, bias)) {}

Var Conv1d::operator()(const Var& x) const {
  return conv1d(x, x.tape().parameter(weight_), on(x.tape(), bias_), options_);
}

}  // namespace nine
