// Starting a training from the weights of a trained model.
#pragma once

#include <string>

#include "data/vocabulary.h"
#include "nn/models/language_network.h"
#include "nn/models/transformer.h"
#include "nn/parameters.h"

namespace nine {

/// Copies the weights of the language model at `path` (see model_directory) into `parameters`,
/// those of `network`, to train on from them. Returns a sentence that says what was taken, and what
/// of the head is another one there. Errors: its words are not those of `vocabulary`; its sizes, or
/// what of the network the shapes of tensors do not show, are others; make_language_network's.
std::string load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                                 const ParameterSet& parameters, const LanguageNetwork& network);

/// The same of a translation model, which has two dictionaries, into the parameters of `network`.
/// Error, too: it was trained with other positions or another factor of its embeddings.
std::string load_initial_weights(const std::string& path, const Vocabulary& source,
                                 const Vocabulary& target, const Transformer& network);

}  // namespace nine
