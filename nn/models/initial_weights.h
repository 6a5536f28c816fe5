// Starting a training from the weights of a trained model.
#pragma once

#include <map>
#include <string>

#include "data/vocabulary.h"
#include "nn/parameters.h"

namespace nine {

/// Copies the weights of the language model at `path` (see model_directory) into `parameters`, to
/// train on from them. `network`: what tensors' shapes do not show of a network, by its name in
/// config.json or metadata ("heads", "activation"). Errors: its words are not those of
/// `vocabulary`; its sizes, or what `network` names, are others.
void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters,
                          const std::map<std::string, std::string>& network);

/// The same of a translation model, which has two dictionaries.
void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters,
                          const std::map<std::string, std::string>& network);

}  // namespace nine
