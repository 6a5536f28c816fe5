// The learned numbers of a head: parameters of its kernels, and scales, that are trained like its
// weights (docs/learned-numbers.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/settings/head.h"

namespace nine {

/// A learned parameter, or the learned scale, of one component.
struct LearnedNumber {
  int64_t component = 0;
  int number = 0;         ///< Score::number
  std::string name = {};  ///< "p", "scale"
  bool positive = false;  ///< true: the logarithm of the number is stored and learned
  double start = 0;

  /// Returns the last part of the tensor's name, "scores.COMPONENT.NAME". The head's name and a dot
  /// stand before it, as in "head.scores.0.p".
  std::string tensor_name() const;
  /// Convert a value to its stored form, the logarithm if `positive`, and back.
  double stored(double value) const;
  double value(double stored) const;
};

/// Returns the learned numbers component by component, in the order of the kernel's parameters, the
/// scale last.
std::vector<LearnedNumber> learned_numbers(const HeadSpec& head);
/// Returns `head` with its learned numbers set to `values` (not in stored form), in the order of
/// learned_numbers(). Error: not one value for each number.
HeadSpec with_numbers(HeadSpec head, std::span<const double> values);

}  // namespace nine
