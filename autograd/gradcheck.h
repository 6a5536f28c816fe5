// Checks the gradients of a function against central differences in float64.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace nine {

/// The largest gradient that counts as 0, because its difference quotient holds rounding errors
/// alone.
inline constexpr double kVanishingGradient = 1e-7;

/// Settings of gradcheck().
struct GradcheckOptions {
  double eps = 1e-5;           ///< an element x is moved by eps * max(1, |x|) in both directions
  int64_t max_elements = 200;  ///< elements checked of each input, drawn at random; 0: all elements
  uint64_t seed = 1;           ///< seed of the drawn elements and of the loss weights
};

/// The result of gradcheck().
struct GradcheckReport {
  /// The largest error of an input. An input's error is its largest |analytic - numeric| divided by
  /// its largest |numeric|. If the latter is at most 1e-7, as for a gradient of zeros, the error is
  /// not divided.
  double worst = 0;
  /// The element with this error: "input 1 of shape (3, 4), element 7: analytic 0.25, numeric
  /// 0.31".
  std::string where;
  int64_t checked = 0;  ///< number of elements checked
  /// The inputs whose checked gradients all vanish, both analytic and numeric: 0 agrees with 0, so
  /// their elements check nothing. An input that `f` does not use is an Error of gradcheck().
  std::vector<size_t> vanished;
};

/// Checks the gradients of `f`, which computes a value from leaves: one leaf for each of `inputs`,
/// in their order. gradcheck() calls f many times, so f must depend on the leaves alone. A value of
/// several elements is reduced to a weighted sum with unequal weights, so that a gradient whose sum
/// alone is right does not pass. gradcheck() moves elements of copies: `inputs` keep their values,
/// and may share memory with each other or with tensors that f holds. Errors: an input is not a
/// contiguous float64 tensor; backward gives an input no gradient.
GradcheckReport gradcheck(const std::function<Var(std::span<const Var>)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

/// Compares gradients that the caller has computed with differences of value(), for functions whose
/// inputs are not leaves. gradients[i] has a number for each element of inputs[i]. value() reads
/// `inputs`, whose elements compare_gradients() moves one by one and then restores. names[i] stands
/// for input i in GradcheckReport::where. Error: an input is not a contiguous float64 tensor.
GradcheckReport compare_gradients(const std::vector<std::string>& names,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<std::vector<double>>& gradients,
                                  const std::function<double()>& value,
                                  const GradcheckOptions& options = {});
/// Returns y as one number to differentiate: y itself, or a sum of its elements with unequal
/// weights, which depend on the seed.
Var checked_loss(const Var& y, uint64_t seed);

}  // namespace nine
