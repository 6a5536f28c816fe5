// Starting a training from the weights of a trained model.
#pragma once

#include <string>

#include "data/vocabulary.h"
#include "nn/parameters.h"

namespace nine {

/// Copies the weights of the language model at `path` (see model_directory) into `parameters`, to
/// train on from them. Errors: its words are not those of `vocabulary`; its sizes are others.
void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters);

/// The same of a translation model, which has two dictionaries.
void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters);

}  // namespace nine
