// The feed-forward network of a Transformer layer.
#pragma once

#include <string>

#include "nn/linear.h"

namespace nine {

/// linear2(max(linear1(x), 0)) at each position (Vaswani et al., 2017, section 3.3), with
/// torch.nn.TransformerEncoderLayer's names: `NAME.linear1` from `size` to `inner`, `NAME.linear2`
/// back, both with a bias.
class FeedForward {
 public:
  FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
              LinearInit init = LinearInit::torch);

  /// x (rows, size) to the same shape.
  Var operator()(const Var& x) const { return linear2_(linear1_.relu(x)); }
  /// residual + dropout(the above), the sum fused with linear2. The dropout's random numbers are
  /// those of the stream "dropout.NAME.linear2".
  Var add_to(const Var& residual, const Var& x, double dropout) const {
    return linear2_.dropout_add(linear1_.relu(x), residual, dropout, dropout_stream_);
  }

 private:
  Linear linear1_, linear2_;
  std::string dropout_stream_;
};

}  // namespace nine
