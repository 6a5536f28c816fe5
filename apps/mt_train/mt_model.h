// A translation model's checkpoint directory: what config.json says of the model, and opening one
// for use (formats.md, "Translation checkpoints").
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/vocabulary.h"
#include "nn/models/transformer.h"

namespace nine::app {

/// The dictionaries' files in a checkpoint.
inline constexpr const char *kSourceDict = "src.dict.txt", *kTargetDict = "tgt.dict.txt";

/// The keys of config.json that CTranslate2 and the replay in PyTorch read: `task`, `dtype`, sizes,
/// norm, smoothing, ties. The head is not among them.
nlohmann::ordered_json translation_config(const Transformer& model);

/// A trained translation model for use: from a checkpoint (see open_checkpoint), or any directory
/// with model.safetensors, config.json, src.dict.txt and tgt.dict.txt, such as one that PyTorch
/// wrote. Without gradients: for evaluation. Errors: a language model's checkpoint; a config.json
/// without a key that is needed; dictionaries, weights or positions that do not fit each other.
class SavedTranslationModel {
 public:
  SavedTranslationModel(const std::string& path, Device device);

  const Transformer& model() const { return *model_; }
  const ParameterSet& parameters() const { return *parameters_; }
  Device device() const { return parameters_->values().device(); }
  const Vocabulary& source() const { return source_; }
  /// source() itself, word for word, where the vocabulary is shared.
  const Vocabulary& target() const { return target_; }
  /// Where the files are.
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  Vocabulary source_, target_;
  std::unique_ptr<ParameterSet> parameters_;
  std::unique_ptr<Transformer> model_;
};

/// --init: copies the weights of such a directory into `parameters`. Error: other words than these
/// dictionaries', other sizes.
void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters);

}  // namespace nine::app
