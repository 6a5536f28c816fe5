// Initialises a training with the weights of a trained model.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/tokenizers/model_tokenizer.h"
#include "data/vocabulary.h"
#include "nn/models/language_network.h"
#include "nn/models/transformer.h"
#include "nn/models/translation_text.h"
#include "nn/parameters.h"

namespace nine {

/// Copies the weights of the language model at `path` (see model_directory) into `parameters`, the
/// parameters of `network`. Returns a sentence that says what was copied and how the head there
/// differs. Errors: its words are not those of `vocabulary`, or its tokenizer is not `tokenizer`
/// (null for a text of words); its sizes, or settings of the network that do not follow from the
/// tensors' shapes, differ; their output bias excludes a word of which `counts`, the counts of the
/// words in the training text, has some; the errors of make_language_network. Other excluded words
/// get kExclusionInTraining.
std::string load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                                 const ModelTokenizer* tokenizer, const ParameterSet& parameters,
                                 const LanguageNetwork& network, std::span<const int64_t> counts);

/// Does the same for a translation model, which has two sides, into the parameters of
/// `network`. Further error: the positions or the factor of the embeddings differ.
std::string load_initial_weights(const std::string& path, const TranslationSide& source,
                                 const TranslationSide& target, const Transformer& network);

}  // namespace nine
