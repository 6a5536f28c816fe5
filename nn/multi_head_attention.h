// Scaled dot-product attention with several heads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "autograd/functions.h"
#include "nn/attention_positions.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/parameters.h"

namespace nine {

/// Says which rows form a sentence and which keys a query attends to. `steps` below is the padded
/// length of the sentences.
struct AttentionMask {
  /// Number of sentences; sentence b has rows b * steps ... (b + 1) * steps - 1.
  int64_t batch = 1;
  /// Each sentence's number of keys before the padding, (batch) int32 on the layer's device. Empty:
  /// no padding.
  Tensor lengths = {};
  bool causal = false;  ///< true: position t attends to positions up to t only
  /// If given: for each row of x, the list of the rows of x that it attends to. The members above
  /// are then ignored; x need not have padding, and the result has no gradient.
  KeyLists lists = {};
  /// Required with `lists` and AttentionPositions: each row's position, int32 on the layer's
  /// device.
  Tensor places = {};
};

/// The choices of an attention layer that torch.nn.MultiheadAttention does not have.
struct AttentionStyle {
  /// Heads of keys and values, a divisor of the heads of queries (Ainslie et al., 2023: grouped
  /// queries); 0: as many as heads of queries.
  int64_t kv_heads = 0;
  /// RMS norms of each head's queries and keys, before the positions (Henry et al., 2020): one
  /// weight for all heads, `NAME.q_norm.weight` and `NAME.k_norm.weight` (size of a head).
  bool qk_norm = false;
  double norm_eps = LayerNorm::kEps;  ///< of these norms
  bool bias = true;                   ///< of all linear maps
  /// The positions in queries and keys of self-attention; null: none.
  std::shared_ptr<const AttentionPositions> positions = nullptr;
};

/// The positions of rows in decoding: the same for all rows, or for each row its own.
struct RowPlaces {
  RowPlaces(int64_t all_ = 0) : all(all_) {}           // NOLINT: a number is a position
  RowPlaces(Tensor each_) : each(std::move(each_)) {}  // NOLINT: a tensor is positions
  int64_t all = 0;
  Tensor each;  ///< int32 (rows), on the device; empty: `all`
};

/// torch.nn.MultiheadAttention (Vaswani et al., 2017, section 3.2.2). Parameters:
/// `NAME.in_proj_weight` (3 size, size) and `NAME.in_proj_bias` (3 size) for queries, keys and
/// values in this order (style.kv_heads makes both shorter: fewer rows of keys and values);
/// `NAME.out_proj.weight` (size, size) and `NAME.out_proj.bias` (size). The default initial values
/// are PyTorch's: in_proj_weight as one matrix with xavier_uniform, out_proj.weight as in
/// torch.nn.Linear, biases at 0. `init` replaces them for all parameters; for out_proj, `out_init`
/// replaces `init`. `weight_dropout` is the dropout of the attention weights in training (PyTorch's
/// `dropout`); its random numbers come from the stream "dropout.NAME.weights".
class MultiHeadAttention {
 public:
  /// Errors: `heads` does not divide `size`; style.kv_heads does not divide `heads`.
  MultiHeadAttention(ParameterSet& set, const std::string& name, int64_t size, int64_t heads,
                     const std::optional<LinearInit>& init = {},
                     const std::optional<LinearInit>& out_init = {}, double weight_dropout = 0,
                     const AttentionStyle& style = {});

  /// Computes self-attention over x (batch * steps, size), with the output projection. Returns the
  /// same shape.
  Var operator()(const Var& x, const AttentionMask& mask) const;
  /// Computes attention from x (batch * queries, size) to memory (batch * keys, size), with the
  /// output projection. mask.lengths counts rows of `memory`. Returns the shape of x.
  Var operator()(const Var& x, const Var& memory, const AttentionMask& mask) const;

  /// Returns residual + dropout(self-attention of x); the sum is fused with the output projection.
  /// The dropout draws its random numbers from the stream "dropout.NAME".
  Var add_to(const Var& residual, const Var& x, const AttentionMask& mask, double dropout) const;
  /// Does the same for attention to `memory`.
  Var add_to(const Var& residual, const Var& x, const Var& memory, const AttentionMask& mask,
             double dropout) const;

  // For decoding. Error: the tape is recording.

  /// Adds the keys and values of x (rows, size) to `cache`, computes self-attention of x to the
  /// listed rows of the cache, and returns residual + the result. With AttentionPositions, the
  /// queries and the keys of x first get the rows' positions `places`, and the cache keeps the keys
  /// with their positions.
  Var add_next_to(const Var& residual, const Var& x, KeyValueCache& cache, const KeyLists& lists,
                  const RowPlaces& places = {}) const;
  /// Adds the keys and values of x to `cache`, for add_seen_to().
  void store(const Var& x, KeyValueCache& cache) const;
  /// Returns residual + the attention of x to the listed rows of what store() has stored. Writes
  /// the weights, as the mean over heads, to `weights` (rows, at least the longest list) if not
  /// empty.
  Var add_seen_to(const Var& residual, const Var& x, const KeyValueCache& cache,
                  const KeyLists& lists, const Tensor& weights = {}) const;
  /// Returns an empty cache for the keys and values of this layer.
  KeyValueCache new_cache(DType dtype, Device device) const {
    return {kv_heads_ * head_size_, dtype, device};
  }
  /// Adds packed copies of the weights, for self-attention or for attention to a memory.
  void pack_self(PackedWeights& packed) const;
  void pack_cross(PackedWeights& packed) const;

  /// Returns the weights of causal self-attention over one sequence, x (steps, size), as the mean
  /// over heads: (steps, steps) in x's type, for display. The tape must not record.
  Var weights(const Var& x) const;

 private:
  // The columns of keys or of values.
  int64_t width() const { return kv_heads_ * head_size_; }
  AttentionShape shape_of(const AttentionMask& mask) const;
  // Returns queries, keys and values side by side, with norms of queries and keys, and with the
  // positions of `rows` (AttentionPositions::rows) unless it is empty.
  Var queries_keys_values(const Var& x, const Tensor& rows) const;
  // Return the rows of positions first ... first + steps - 1, and of each row of x; empty without
  // AttentionPositions.
  Tensor places(const Var& x, int64_t first, int64_t steps) const;
  Tensor places(const Var& x, const RowPlaces& places) const;
  Var queries(const Var& x) const;  // for attention to a memory
  Var keys_values(const Var& x) const;
  // Computes the rows of the projection of heads first ... first + count - 1 of all.
  Var projected(const Var& x, int64_t first, int64_t count) const;
  Var attend(const Var& x, const AttentionMask& mask) const;  // without the output projection
  Var attend(const Var& x, const Var& memory, const AttentionMask& mask) const;

  int64_t heads_, kv_heads_, head_size_;
  Parameter& in_proj_weight_;
  Parameter* in_proj_bias_;  // null without biases
  Linear out_proj_;
  Parameter *q_norm_ = nullptr, *k_norm_ = nullptr;
  double norm_eps_;
  std::shared_ptr<const AttentionPositions> positions_;
  double weight_dropout_;
  std::string dropout_stream_, weight_stream_;
};

}  // namespace nine
