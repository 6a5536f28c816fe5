// Reads and checks the input file of kernel_inspect --input, field by field (docs/formats.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/json.h"
#include "core/matmul_precision.h"
#include "kernels/settings/head_config.h"

namespace nine::app {

/// An array of the input file, row-major; without elements if the head has no such array.
struct InspectArray {
  const char* name = "";
  std::vector<int64_t> shape;
  std::vector<double> values;

  explicit operator bool() const { return !values.empty(); }
};

/// A head, its loss, and its input numbers.
struct InspectInput {
  HeadConfig head;
  DType dtype = DType::float64;
  MatmulPrecision precision = MatmulPrecision::highest;
  Device device = kCpu;
  bool check_all = false;                 ///< true: check every coordinate of every gradient, not a
                                          ///< sample
  int64_t rows = 0, words = 0, size = 0;  ///< N, V, d
  /// H (N, d), W (V, d) or untied (K, V, d), b (V), M (d, K), C (K, d, d), and the head's learned
  /// numbers with the values from which they start in the head string.
  enum Field { kH, kW, kB, kM, kC, kScores, kFields };
  std::array<InspectArray, kFields> arrays;
  std::vector<int32_t> targets;  ///< N; -1: the row has no target
  std::vector<double> counts;    ///< V counts of the words in training; empty if not given

  /// True if the head has a margin, a word norm or a context norm.
  bool by_angle() const { return head.loss.margin || head.norms; }
};

/// Reads the JSON of the input. UsageError, which names the field and its form: a field is missing
/// or wrong.
InspectInput read_inspect_input(const Json& in);

}  // namespace nine::app
