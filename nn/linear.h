// A linear map, by default with a bias.
#pragma once

#include <string>
#include <string_view>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// Computes y = x w' + b, where w is `NAME.weight` (out, in), w' its transpose, and b `NAME.bias`
/// (out).
class Linear {
 public:
  /// Declares the parameters. By default both start as U(-1/sqrt(in), 1/sqrt(in)), as in
  /// torch.nn.Linear.
  Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias = true,
         const LinearInit& init = {});

  /// Maps x (..., in) to (..., out).
  Var operator()(const Var& x) const;
  /// Computes max(x w' + b, 0), with a bias in one op.
  Var relu(const Var& x) const;
  /// Computes residual + dropout(x w' + b), with a bias in one op: the end of a residual branch.
  /// The dropout draws its random numbers from `stream`.
  Var dropout_add(const Var& x, const Var& residual, double dropout, std::string_view stream) const;

  /// Adds packed copies of the weights to `packed`. While a tape uses `packed` (Tape::use_packed),
  /// the functions above multiply with the copies.
  void pack(PackedWeights& packed) const;

  Parameter& weight() const { return weight_; }
  Parameter* bias() const { return bias_; }  ///< null without a bias

 private:
  Var bias_on(Tape& tape) const { return bias_ != nullptr ? tape.parameter(*bias_) : Var(); }

  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace nine
