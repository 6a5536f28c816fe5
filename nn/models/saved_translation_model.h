// Opening a trained translation model, and the keys of config.json that describe one.
//
//   const SavedTranslationModel saved("runs/iwslt", kCpu);
//   const Translator translator(saved.model(), Specials::kTranslation.end);
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/json.h"
#include "data/vocabulary.h"
#include "nn/models/transformer.h"

namespace nine {

/// The files of the dictionaries, beside model.safetensors.
inline constexpr const char *kSourceDict = "src.dict.txt", *kTargetDict = "tgt.dict.txt";

/// The keys of config.json that CTranslate2 and a replay of the training in PyTorch (docs/mt.md)
/// read: `task`, `dtype`, sizes, norm order, smoothing, ties. The head is not among them.
Json translation_config(const Transformer& model);

/// A trained translation model with its dictionaries. Without gradients: for evaluation.
class SavedTranslationModel {
 public:
  /// Reads the checkpoint, the run or the directory at `path` (see model_directory), which holds
  /// model.safetensors, config.json, src.dict.txt and tgt.dict.txt. Errors: a language model; a
  /// config.json without a key that is needed; dictionaries, weights or positions that do not fit
  /// each other.
  SavedTranslationModel(const std::string& path, Device device);

  const Transformer& model() const { return *model_; }
  const ParameterSet& parameters() const { return *parameters_; }
  Device device() const { return parameters_->values().device(); }
  const Vocabulary& source() const { return source_; }
  /// Equal to source() where the vocabulary is shared.
  const Vocabulary& target() const { return target_; }
  /// Where the files are.
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  Vocabulary source_, target_;
  std::unique_ptr<ParameterSet> parameters_;
  std::unique_ptr<Transformer> model_;
};

/// Copies the weights of such a model into `parameters`, to train on from them. Error: its words
/// are not those of these dictionaries, its sizes are others.
void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters);

}  // namespace nine
