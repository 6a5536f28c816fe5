// A linear map, with a bias unless told otherwise.
#pragma once

#include <string>
#include <string_view>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// y = x w' + b with `NAME.weight` (out, in) and `NAME.bias` (out).
class Linear {
 public:
  /// Starts as torch.nn.Linear unless told otherwise: both U(-1/sqrt(in), 1/sqrt(in)).
  Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias = true,
         const LinearInit& init = {});

  /// x (..., in) to (..., out).
  Var operator()(const Var& x) const;
  /// max(x w' + b, 0) in one op. Error: there is no bias.
  Var relu(const Var& x) const;
  /// residual + dropout(x w' + b) in one op, the end of a residual branch. The dropout's random
  /// numbers are those of `stream`. Error: there is no bias.
  Var dropout_add(const Var& x, const Var& residual, double dropout, std::string_view stream) const;

  Parameter& weight() const { return weight_; }
  Parameter* bias() const { return bias_; }  ///< null where there is none

 private:
  Parameter& needed_bias() const;

  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace nine
