// The texts and the vocabulary of a language-model run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/cli/saved_model.h"
#include "apps/lm_train/lm_options.h"
#include "data/corpus.h"

namespace nine::app {

struct LmData {
  Vocabulary vocabulary;
  Corpus train;
  std::optional<Corpus> valid, test;
  /// With --sample: perplexity of the language itself on the validation and test text, and per
  /// token in general.
  std::optional<double> valid_floor, test_floor, language_floor;

  /// CRC-32C over the training ids and the vocabulary, and over the validation ids: whether a run
  /// goes on with the data it was started with.
  uint32_t train_checksum() const;
  uint32_t valid_checksum() const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
LmData load_lm_data(const LmOptions& options);

/// A trained model for use: read from a checkpoint (see open_checkpoint), or from any directory
/// with model.safetensors and dict.txt, such as one that PyTorch wrote. Sizes come from the
/// tensors' shapes, the head from config.json where there is one.
class SavedLanguageModel {
 public:
  SavedLanguageModel(const std::string& path, Device device);

  const LanguageModel& model() const { return *model_; }
  Device device() const { return parameters_->values().device(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  std::filesystem::path directory_;
  Vocabulary vocabulary_;
  std::unique_ptr<ParameterSet> parameters_;
  std::unique_ptr<LanguageModel> model_;
};

/// --init: copies the weights of such a directory into `parameters`. Error: other words than
/// `vocabulary`, other sizes.
void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters);

}  // namespace nine::app
