// Reads the files of a trained model, of Nine or of another program. docs/pytorch.md says which
// keys the files of another program need, and which values are assumed.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "nn/models/model_directory.h"

namespace nine {

/// Returns the files that hold a directory's tensors: model.safetensors, or
/// model.safetensors.index.json and the files that it names. Error: the index is damaged, or names
/// a file outside of the directory.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& directory);

/// The files of a model in a directory.
struct ModelFiles {
  std::filesystem::path directory;
  /// The tensors. Their names are without the parts `module`, `_orig_mod` and
  /// `_fsdp_wrapped_module`, which PyTorch's wrappers add, and without a common beginning of all
  /// names, such as `model.` in a Lightning checkpoint. bfloat16 is widened to float32.
  Safetensors weights;
  Json config;           ///< model_config(): config.json, with missing keys from the metadata
  bool foreign = false;  ///< true if nothing shows that Nine wrote the model
  Json assumed = Json::object();  ///< for a foreign model: needed keys that no file has, with their
                                  ///< assumed values

  std::vector<std::string> of_metadata = {};  ///< keys that config.json lacks

  /// Returns the source of a key, for messages: config.json, or the metadata of model.safetensors.
  std::string said_in(std::string_view key) const;
  bool says(const char* key) const { return config.contains(key); }
  /// Returns the whole number of a key, at least 1; it may be a text, as in metadata. Error: the
  /// value is not such a number, or no file has the key.
  int64_t count(const char* key) const;
  /// Returns the number of a key, which may be a text. If no file has the key, returns and assumes
  /// `usual`.
  double number(const char* key, double usual);
  /// Returns the same for a factor. Error: the factor is 0 or infinite in float32, which computes.
  double factor(const char* key, double usual);
  /// Returns `size`, a size that tensors show; messages describe the tensors by `before` and
  /// `after`. Error: the files give another value for the key.
  int64_t shown(const char* key, int64_t size, std::string_view before,
                std::string_view after) const;
  /// Returns the value that the presence of a tensor shows. Error: the files give the other value
  /// for the key.
  bool shown(const char* key, bool value, const char* tensor) const;
  /// Checks `task` and `norm_first`. Errors: the files name another task (`lm`, `mt`) than the task
  /// to which `tensor` belongs; PyTorch's `norm_first` contradicts `norm`.
  void check_kind(const char* task, const char* tensor) const;
  /// Checks a key for which Nine supports a single number. Error: config.json has another number.
  void only(const char* key, double number);
  /// Returns the value that a key names. If no file has the key, returns and assumes `usual`.
  template <NamedEnum E>
  E choice(const char* key, E usual) {
    const std::string text = text_or(key, to_text(usual));
    try {
      return enum_from_text<E>(text);
    } catch (const UsageError& e) {
      fail(said_in(key), ": the key '", key, "': ", e.what());
    }
  }
  /// Checks a key for which Nine supports a single value. Error: config.json has another value.
  template <NamedEnum E>
  void only(const char* key, E value) {
    require(choice(key, value) == value, said_in(key), ": the key '", key, "' is '",
            to_text(choice(key, value)), "', but such a model has ", to_text(value), " alone here");
  }
  /// Assumes the head lin if no file names the head.
  void assume_head() {
    if (foreign && !says("head")) assumed["head"] = "lin";
  }
  /// Checks that the files have `keys`. The Error lists all missing keys and says what to write:
  /// the values for a model with PyTorch's defaults, and `more`, for keys that PyTorch does not
  /// have.
  void require_keys(std::initializer_list<const char*> keys, std::string_view more = {}) const;
  /// Rethrows the exception that is being handled. If it is about a value of config.json, the
  /// message names the file.
  [[noreturn]] void fail_for_config() const;
  /// Gives a notice() of the assumed values, if any.
  void say_assumed() const;

 private:
  std::string text_or(const char* key, const std::string& usual);
};

/// Reads a directory that model_directory() found. Gives a notice() if it leaves out a common
/// beginning of names, or finds another program's state.json. Errors: those of weight_files,
/// model_config and read_finite_weights; parts of a model that do not fit their index; two tensors
/// of one name.
ModelFiles read_model(const std::filesystem::path& directory,
                      ExcludedWords words = ExcludedWords::allowed);

}  // namespace nine
