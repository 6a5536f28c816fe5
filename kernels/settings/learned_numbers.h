// The learned numbers of a head: parameters of its kernels, and scales, that are trained like its
// weights (docs/learned-numbers.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/settings/head.h"

namespace nine {

struct LearnedNumber {
  int64_t component = 0;
  int number = 0;         ///< Score::number
  std::string name = {};  ///< "p", "scale"
  bool positive = false;  ///< what is stored and learned is its logarithm
  double start = 0;

  /// How its tensor is called behind the head's name: "scores.COMPONENT.NAME".
  std::string tensor_name() const;
  /// What is stored of a value, and back.
  double stored(double value) const;
  double value(double stored) const;
};

/// Component by component, in the order of the kernel's parameters, the scale last.
std::vector<LearnedNumber> learned_numbers(const HeadSpec& head);
/// The head with these values, one for each learned number, in the places where it says where they
/// start.
HeadSpec with_numbers(HeadSpec head, std::span<const double> values);

}  // namespace nine
