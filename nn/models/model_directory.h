// The places and names of a trained model's files, for opening language models and translation
// models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/safetensors.h"

namespace nine {

/// The file of a language model's vocabulary, beside model.safetensors.
inline constexpr const char* kDictionaryFile = "dict.txt";
/// The files of a translation model's dictionaries.
inline constexpr const char *kSourceDict = "src.dict.txt", *kTargetDict = "tgt.dict.txt";

/// Returns the names of the files that a model of either kind may have for its text: dictionaries
/// and tokenizers (ModelTokenizer).
const std::vector<std::string>& text_file_names();

/// In config.json's `resolved`, of a language model that reads raw text: how documents end
/// (DocumentEnds).
inline constexpr const char* kDocumentEnds = "document_ends";

/// The file of a model's tensors, and the index that other programs write if the tensors are in
/// several files.
inline constexpr const char *kWeightsFile = "model.safetensors",
                            *kWeightsIndex = "model.safetensors.index.json";
/// The key of the tensors' metadata with the version of Nine that wrote the model.
inline constexpr const char* kVersionKey = "nine_version";
/// The key of the checksums of the model's dictionaries there, a JSON object as a text.
inline constexpr const char* kWordsKey = "words";

/// Returns the directory of a trained model's files. `path` is a run, a directory of checkpoints,
/// or a checkpoint; its model files are verified (open_checkpoint). It may also be a directory that
/// has model.safetensors or its index, but no state.json of Nine, as PyTorch writes it. This
/// directory is not verified. Gives a notice() if it is also a run, whose checkpoints are then not
/// read. Errors: there is no model (if there are PyTorch's own files, the message has the lines of
/// Python that convert them); `dictionary`, if given, is missing, and the dictionary of the other
/// kind of model is there. In this case the tensors decide which of two messages says what is
/// wrong.
std::filesystem::path model_directory(const std::string& path, const char* dictionary = nullptr);

/// True if the model at `path` (as for model_directory) reads raw text: a tokenizer lies beside
/// its dictionary. Verifies no file; false if there is no model.
bool reads_raw_text(const std::string& path);

/// Throws an Error unless both models cut a text into the same tokens: two models of words, or of
/// raw text with the same dictionary.
void require_same_tokens(const std::string& a, const std::string& b);

/// Returns the directory's config.json; an empty object if there is none. Errors: config.json is
/// not a JSON object of at most kJsonLevels levels, or not a regular file.
Json model_config(const std::filesystem::path& directory);

/// The bias that excludes a word of a model that is trained on. Its probability and its gradient
/// are 0.
inline constexpr double kExclusionInTraining = -10000;
/// How words are excluded: an output bias of -infinity excludes its word. For training it becomes
/// kExclusionInTraining, because no optimiser computes with infinity.
enum class ExcludedWords : uint8_t { by_infinity, for_training };
/// Returns the tensors of a file, with bfloat16 widened to float32. Errors: those of
/// read_safetensors; a file of torch.save (the message has the lines of Python that convert it); a
/// number that is not finite, except for excluded words (the message has file, tensor and the first
/// index); all words are excluded.
Safetensors read_finite_weights(const std::filesystem::path& file,
                                ExcludedWords words = ExcludedWords::by_infinity);

/// The end of the name of an output bias.
inline constexpr std::string_view kOutputBias = "head.bias";
/// Checks the numbers of a model's tensor. Errors, with file, tensor and the first such number: one
/// is not finite, but for -infinity in a tensor whose name ends with `output_bias`, which excludes
/// a word; all words are excluded.
void require_finite(const std::string& name, const Tensor& tensor,
                    const std::filesystem::path& file, std::string_view output_bias = kOutputBias);
/// Checks that all numbers of a tensor are `sound`. Error, with file, tensor, the first other
/// number and its index, and `rule`: "a mean of squares is 0 or more".
void require_numbers(const std::filesystem::path& file, const std::string& name,
                     const Tensor& tensor, const std::function<bool(double)>& sound,
                     std::string_view rule);

}  // namespace nine
