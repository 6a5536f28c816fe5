// Low-rank updates of matrices (LoRA, Hu et al., 2022): W = W0 + alpha / rank * B A, where only A
// and B are trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace nine {

/// Which matrices have low-rank updates.
struct LowRankConfig {
  int64_t rank = 0;  ///< 0: none; all parameters are trained as they are
  double alpha = 0;  ///< the update's factor is alpha / rank
  /// Patterns of names, as in ParameterSet::freeze(). Parameters that are no matrices have no
  /// low-rank update, whether a pattern matches them or not.
  std::vector<std::string> matrices;
  uint64_t seed = 1;  ///< of A

  explicit operator bool() const { return rank > 0; }
};

/// The matrices of a model that have low-rank updates, with their factors. A (rank, in) starts as
/// N(0, 1 / in), B (out, rank) as 0, so that the model starts as it was.
class LowRankUpdates {
 public:
  /// Freezes all parameters of `set` but the matrices, whose present values are W0. `set` must
  /// outlive the object. Errors: a pattern that matches no matrix; a rank above the smaller side of
  /// a matrix.
  LowRankUpdates(ParameterSet& set, const LowRankConfig& config);

  /// Returns A and B of all matrices: "NAME.lora_a" and "NAME.lora_b".
  ParameterSet& factors() { return factors_; }
  /// Computes the gradients of A and B from those of the matrices: with s = alpha / rank and the
  /// gradient G of W, s B'G and s G A'.
  void set_gradients();
  /// Sets each matrix to W0 + s B A.
  void apply();

  /// Returns W0 of each matrix, named `prefix` + its name.
  std::vector<NamedView> originals(const std::string& prefix) const;
  /// Replaces W0 by the tensors that originals() named. Error: a tensor is missing or has another
  /// shape.
  void load_originals(const Safetensors& file, const std::string& prefix);

 private:
  struct Matrix {
    Parameter* whole = nullptr;
    Tensor original;
    Parameter* a = nullptr;
    Parameter* b = nullptr;
  };
  double factor_;
  ParameterSet factors_;
  std::vector<Matrix> matrices_;
};

/// The result of low_rank_size().
struct LowRankSize {
  std::vector<std::string> matrices;  ///< the names of the matrices with low-rank updates
  int64_t numbers = 0;                ///< the elements of all A and B together
};
/// Returns the matrices that a configuration selects, and the size of their factors. Error: a
/// pattern that matches no matrix.
LowRankSize low_rank_size(const ParameterSet& set, const LowRankConfig& config);

}  // namespace nine
