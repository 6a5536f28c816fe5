// Initialises a training with the weights of a trained model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizers/model_tokenizer.h"
#include "data/vocabulary.h"
#include "nn/models/language_config.h"
#include "nn/models/language_network.h"
#include "nn/models/match_words.h"
#include "nn/models/transformer.h"
#include "nn/models/translation_text.h"
#include "nn/parameters.h"

namespace nine {

/// What a training took from the model from which it starts.
struct InitialWeights {
  /// A sentence: which tensors were taken, how the head differs, and what of it begins anew.
  std::string taken;
  std::vector<std::string> fresh;  ///< parameters of the head that begin anew
  WordMatch words;
};

/// The language model from which a training starts. Its network is the training's; words and head
/// may be others.
class InitialModel {
 public:
  /// Opens the model at `path` (see model_directory). Errors: those of language_config() and
  /// language_words().
  explicit InitialModel(const std::string& path);

  /// Returns the settings of its network and head.
  const LanguageConfig& config() const { return config_; }
  /// Returns its words, and its tokenizer if it reads raw text.
  const LanguageWords& words() const { return words_; }

  /// Moves the weights into `parameters`, the parameters of `network`, which reads the words of
  /// `vocabulary`. `tokenizer` is null unless the network reads raw text. A word that the model
  /// lacks starts as match_words() says. If the head is of another kind, tables of the same shape
  /// are taken, and a component's word vectors start from the model's. Other tensors of the head
  /// then begin anew. A word that the output bias excludes gets kExclusionInTraining. counts[id]
  /// says how often the word is in the training text. Errors: the sizes of the network, or settings
  /// that no tensor shows, differ; an excluded word is in the training text.
  InitialWeights load(const Vocabulary& vocabulary, const ModelTokenizer* tokenizer,
                      const ParameterSet& parameters, const LanguageNetwork& network,
                      std::span<const int64_t> counts) &&;

 private:
  std::string path_;
  ModelFiles files_;
  LanguageConfig config_;
  LanguageWords words_;
};

/// Copies the weights of the translation model at `path` into the parameters of `network`. Returns
/// a sentence that says what was copied and how the head there differs. Errors: its words or
/// tokenizers are not those of `source` and `target`; its sizes, settings of the network that do
/// not follow from the tensors' shapes, positions or the factor of the embeddings differ; those of
/// transformer_config.
std::string load_initial_weights(const std::string& path, const TranslationSide& source,
                                 const TranslationSide& target, const Transformer& network);

}  // namespace nine
