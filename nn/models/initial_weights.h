// Starting a training from the weights of a trained model.
#pragma once

#include <map>
#include <string>

#include "data/vocabulary.h"
#include "nn/models/transformer.h"
#include "nn/parameters.h"

namespace nine {

/// Copies the weights of the language model at `path` (see model_directory) into `parameters`, to
/// train on from them. `network`: the metadata of the network that is trained, which has what
/// shapes of tensors do not show. Errors: its words are not those of `vocabulary`; its sizes, or
/// what `network` names, are others; make_language_network's.
void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters,
                          const std::map<std::string, std::string>& network);

/// The same of a translation model, which has two dictionaries, into the parameters of `network`.
/// Error, too: it was trained with other positions or another factor of its embeddings.
void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const Transformer& network);

}  // namespace nine
