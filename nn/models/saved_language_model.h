// Opening a trained language model.
//
//   const SavedLanguageModel saved("runs/ptb", kCpu);
//   score_text(saved, text, {}, [](std::span<const double> nats) { ... });
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/vocabulary.h"
#include "nn/models/language_model.h"

namespace nine {

/// The file of a language model's vocabulary, beside model.safetensors.
inline constexpr const char* kDictionaryFile = "dict.txt";

/// A trained language model with its vocabulary. Without gradients: for evaluation.
class SavedLanguageModel {
 public:
  /// Reads the checkpoint, the run or the directory at `path` (see model_directory). Sizes come
  /// from the tensors' shapes, the head from config.json or model.safetensors' metadata. Errors: no
  /// model there; a translation model; vocabulary and weights of different sizes.
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

/// Copies the weights of such a model into `parameters`, to train on from them. Error: its words
/// are not those of `vocabulary`, its sizes are others.
void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters);

}  // namespace nine
