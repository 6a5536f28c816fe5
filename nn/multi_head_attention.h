// Scaled dot-product attention with several heads.
#pragma once

#include <optional>
#include <string>

#include "autograd/functions.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/parameters.h"

namespace nine {

/// Which rows are sentences and which keys a query attends to.
struct AttentionMask {
  int64_t batch = 1;    ///< sentences; sentence b has rows b * steps ... (b + 1) * steps - 1
  Tensor lengths = {};  ///< (batch) int32 on the layer's device: keys without padding; empty: all
  bool causal = false;  ///< position t attends to positions up to t only
};

/// torch.nn.MultiheadAttention (Vaswani et al., 2017, section 3.2.2): `NAME.in_proj_weight` (3
/// size, size) and `NAME.in_proj_bias` (3 size) for queries, keys and values in this order,
/// `NAME.out_proj.weight` (size, size) and `NAME.out_proj.bias` (size). Starts as there unless told
/// otherwise: in_proj_weight as one matrix with xavier_uniform, out_proj.weight as in
/// torch.nn.Linear, biases at 0. An `init` holds for all of them, unless `out_init` says otherwise
/// of out_proj. `weight_dropout` is the dropout of the attention weights in training, there called
/// `dropout`; its random numbers are those of the stream "dropout.NAME.weights".
class MultiHeadAttention {
 public:
  /// Error: `heads` does not divide `size`.
  MultiHeadAttention(ParameterSet& set, const std::string& name, int64_t size, int64_t heads,
                     const std::optional<LinearInit>& init = {},
                     const std::optional<LinearInit>& out_init = {}, double weight_dropout = 0);

  /// Self-attention over x (batch * steps, size), projected: the same shape.
  Var operator()(const Var& x, const AttentionMask& mask) const;
  /// Attention of x (batch * queries, size) to memory (batch * keys, size), projected: the shape of
  /// x.
  Var operator()(const Var& x, const Var& memory, const AttentionMask& mask) const;

  /// residual + dropout(self-attention of x), the sum fused with the output projection. The
  /// dropout's random numbers are those of the stream "dropout.NAME".
  Var add_to(const Var& residual, const Var& x, const AttentionMask& mask, double dropout) const;
  /// The same for attention to `memory`.
  Var add_to(const Var& residual, const Var& x, const Var& memory, const AttentionMask& mask,
             double dropout) const;

  /// residual + self-attention of the next position of each sequence, x (batch, size), to itself
  /// and those in `cache`, to which its keys and values are added. Errors: the tape
  /// records; the cache is for another number of sequences, or full.
  Var add_next_to(const Var& residual, const Var& x, KeyValueCache& cache) const;

  /// The weights of causal self-attention over one sequence, x (steps, size), mean over heads:
  /// (steps, steps) in x's type, to be shown. The tape must not record.
  Var weights(const Var& x) const;

 private:
  AttentionShape shape_of(const AttentionMask& mask) const;
  Var attend(const Var& x, const AttentionMask& mask) const;  // without the output projection
  Var attend(const Var& x, const Var& memory, const AttentionMask& mask) const;

  int64_t heads_;
  Parameter &in_proj_weight_, &in_proj_bias_;
  Linear out_proj_;
  double weight_dropout_;
  std::string dropout_stream_, weight_stream_;
};

}  // namespace nine
