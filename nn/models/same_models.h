// Finds models that are one under two names. Such a model would count twice in a mixture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nine {

/// Two models that are one, the earlier name first.
struct SameModels {
  std::string before, again;
};
/// Returns the first two of the models that are one: a directory under two names, files of weights
/// that are equal byte by byte, or equal files of n-gram models. A model that cannot be opened is
/// left to the code that opens it.
std::optional<SameModels> find_same_models(const std::vector<std::string>& models);

/// Returns an error's text if two of the models are one, and otherwise an empty text:
/// "b has the weights of a, and the model would count twice: leave one of them out".
std::string same_models_error(const std::vector<std::string>& models);

}  // namespace nine
