// nine_convert's options as one struct.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "nn/models/weight_type.h"

namespace nine::app {

/// The values of nine_convert's flags; each has the name of its flag.
struct ConvertOptions {
  std::string from, to;
  std::vector<std::string> vocabs;
  WeightType dtype = WeightType::float32;
  bool dtype_given = false;

  /// True if --to names a file of llama.cpp.
  bool is_gguf() const;

  /// True if --from names a model of Marian.
  bool is_marian() const { return from.ends_with(".npz"); }

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other. Throws UsageError.
  void check(const Options& options);
};

}  // namespace nine::app
