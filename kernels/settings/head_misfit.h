// Numbers of a head and its loss that the type of the computation cannot hold.
#pragma once

#include <span>
#include <string>

#include "core/dtype.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// Returns a sentence about the first number of kernels, formulas, margin, norms and regularisers
/// that `type` cannot hold (core/misfit.h): "p of pow, 1e-300, is too small for float32, ...".
/// Returns "" if `type` holds all numbers.
std::string misfit(const HeadConfig& head, DType type);

/// A type in which numbers were stored: its name, and the bits of a mantissa behind the point.
struct StoredType {
  std::string name;
  int bits = 0;
};
inline const StoredType kFloat16{"float16", 10};
/// Returns the stored type of a type of floating-point numbers in memory.
StoredType stored_type_of(DType type);

/// Describes an output bias whose size hides the differences between words: numbers of `type` lie
/// 1/16 (of 16 bits: 1/4) or more apart there, and rounding would decide the probabilities. There
/// are two cases: two or more words have so large a bias; or two or more words have so negative a
/// bias, and at most one word has a greater bias. Biases of -infinity, which exclude their words,
/// do not count. Returns "" if the bias keeps the differences.
std::string bias_misfit(std::span<const double> bias, const StoredType& type);

}  // namespace nine
