// Where the files of a trained model are and what they are called. Used to open language models and
// translation models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/safetensors.h"

namespace nine {

/// The vocabulary of a language model, beside model.safetensors.
inline constexpr const char* kDictionaryFile = "dict.txt";
/// The dictionaries of a translation model.
inline constexpr const char *kSourceDict = "src.dict.txt", *kTargetDict = "tgt.dict.txt";

/// A model's tensors; and where other programs have cut them into several files, which tensor is
/// where.
inline constexpr const char *kWeightsFile = "model.safetensors",
                            *kWeightsIndex = "model.safetensors.index.json";
/// The version of Nine that wrote a model, in the metadata of its tensors.
inline constexpr const char* kVersionKey = "nine_version";

/// The directory of a trained model's files. `path` is a run, a directory of checkpoints or one
/// checkpoint, which is verified (open_checkpoint, for the model alone), or a directory with
/// model.safetensors or its index but without a state.json of Nine's, such as PyTorch writes, which
/// is not verified. Errors: there is no model, with the lines of Python that make one where
/// PyTorch's own files are there; `dictionary`, where given, is missing because the model is of the
/// other kind.
std::filesystem::path model_directory(const std::string& path, const char* dictionary = nullptr);

/// The directory's config.json; an empty object if there is none. Errors: config.json is not a JSON
/// object of at most kJsonLevels levels, or not a regular file.
Json model_config(const std::filesystem::path& directory);

/// What may be open in a model's weights: an output bias of -infinity excludes its word.
enum class ExcludedWords : uint8_t { allowed, refused };
/// The tensors of a file, bfloat16 widened to float32. Errors: read_safetensors'; what torch.save
/// wrote, with the lines of Python that convert it; with file, tensor and the first index, a number
/// that is not finite, but for excluded words where they are allowed; all words excluded.
Safetensors read_finite_weights(const std::filesystem::path& file,
                                ExcludedWords words = ExcludedWords::allowed);

/// Error, with file, tensor, the first number that is not `sound` and its index, and `rule`: "a
/// mean of squares is 0 or more".
void require_numbers(const std::filesystem::path& file, const std::string& name,
                     const Tensor& tensor, const std::function<bool(double)>& sound,
                     std::string_view rule);

}  // namespace nine
