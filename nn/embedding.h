// A table of vectors that are looked up by id.
#pragma once

#include <string>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// A table of word vectors, `NAME.weight` (count, size).
class Embedding {
 public:
  /// Declares the table in `set`. Its default initial values are N(0, 0.02^2); torch.nn.Embedding
  /// uses N(0, 1).
  Embedding(ParameterSet& set, const std::string& name, int64_t count, int64_t size,
            const Init& init = Init::normal(0.02))
      : weight_(set.add(name + ".weight", {count, size}, init)) {}

  /// Looks up ids (int32 or int64, up to five dimensions, on the table's device). Returns their
  /// vectors: the shape of `ids` followed by `size`. Error: an id outside of [0, count).
  Var operator()(Tape& tape, const Tensor& ids) const {
    return embedding(tape.parameter(weight_), ids);
  }
  Parameter& weight() const { return weight_; }

 private:
  Parameter& weight_;
};

}  // namespace nine
