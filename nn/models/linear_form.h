// Heads whose probabilities are those of inner products and a bias for each word (docs/heads.md,
// section 5), for files of other programs.
#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// Gives the score of the word w in the context h, without terms that all words share:
///   factor * (sum of w's parts) . (sum of h's parts) + norm_factor * |w|^2
/// A vector has `parts` consecutive parts of one size. With one part, the sum is the vector itself.
struct LinearForm {
  double factor = 1;
  double norm_factor = 0;
  int64_t parts = 1;
};

/// Returns the form of a head with the present values of its learned numbers (`spec`); nullopt if
/// it has no such form: another kernel, a mixture, contexts of its own, or norms.
std::optional<LinearForm> linear_form(const HeadConfig& head, const HeadSpec& spec);

/// Vectors and biases of words, float32. Without a bias, `bias` is empty.
struct LinearHead {
  Tensor weight, bias;
};
/// Returns vectors (V, d) and biases (V) whose inner products with whole contexts, plus biases,
/// give the head's probabilities. `vectors` and `bias` are the head's own, float32; `bias` may be
/// empty.
LinearHead linear_head(const LinearForm& form, const Tensor& vectors, const Tensor& bias);

}  // namespace nine
