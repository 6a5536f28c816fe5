// The input file of kernel_inspect --input, read and checked field by field (docs/formats.md).
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

/// An array of the input file, row-major as it stands there; without elements when the head has
/// none.
struct InspectArray {
  const char* name = "";
  std::vector<int64_t> shape;
  std::vector<double> values;

  explicit operator bool() const { return !values.empty(); }
};

/// A head, its loss, and the numbers that go in.
struct InspectInput {
  HeadConfig head;
  DType dtype = DType::float64;
  MatmulPrecision precision = MatmulPrecision::highest;
  Device device = kCpu;
  bool check_all = false;                 ///< every coordinate of every gradient, not a sample
  int64_t rows = 0, words = 0, size = 0;  ///< N, V, d
  /// H (N, d), W (V, d) or untied (K, V, d), b (V), M (d, K), C (K, d, d); and the values of the
  /// head's learned numbers, where the head string says that they start.
  enum Field { kH, kW, kB, kM, kC, kScores, kFields };
  std::array<InspectArray, kFields> arrays;
  std::vector<int32_t> targets;  ///< N; -1: the row counts nothing
  std::vector<double> counts;    ///< V, of the words in training; empty where none are given

  /// Whether the head has a margin or norms of its own.
  bool by_angle() const { return head.loss.margin || head.norms; }
};

/// Reads the JSON of the input. UsageError: a field is missing or wrong; it names the field and
/// what it should be.
InspectInput read_inspect_input(const Json& in);

}  // namespace nine::app
