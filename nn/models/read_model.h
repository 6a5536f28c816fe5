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
#include "kernels/settings/head_config.h"
#include "nn/models/model_directory.h"

namespace nine {

/// Returns the files that hold a directory's tensors: model.safetensors, or
/// model.safetensors.index.json and the files that it names. Error: the index is damaged, or names
/// a file outside of the directory.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& directory);

/// The largest number of sinusoidal positions, for which a model has a table in memory.
inline constexpr int64_t kMostPositions = 1'000'000;

/// A part of a model's files that says something of it.
struct ModelSource {
  std::string place;     ///< for messages: "DIR/config.json", "the metadata of DIR/FILE"
  Json keys;             ///< an object
  bool implied = false;  ///< true: what Nine means by the keys that it left out there
};

/// What a directory holds of its model.
struct ModelFiles {
  std::filesystem::path directory;
  /// The tensors. Their names are without the parts `module`, `_orig_mod` and
  /// `_fsdp_wrapped_module`, which PyTorch's wrappers add, and without a common beginning of all
  /// names, such as `model.` in a Lightning checkpoint. bfloat16 is widened to float32.
  Safetensors weights;
  /// config.json, what a run resolved there, the metadata of each file of weights, and, last, what
  /// Nine's metadata imply.
  std::vector<ModelSource> sources;
  bool foreign = false;           ///< nothing shows that Nine wrote it
  bool hugging_face = false;      ///< of transformers (nn/models/hugging_face.h)
  Json assumed = Json::object();  ///< of a foreign model: keys that were needed and nowhere said

  /// Returns the value of a key; null if no source has the key. Error: two sources contradict each
  /// other; the message has both values and both places.
  const Json* find(std::string_view key) const;
  bool says(const char* key) const { return find(key) != nullptr; }
  /// Returns the place that has a key, for messages; config.json if no source has it.
  std::string said_in(std::string_view key) const;
  /// Returns the whole number >= 1 that a key has. The value may be a text, because metadata has
  /// texts alone. Errors: no source has the key; another value.
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
  /// Returns `value`, which the presence of the tensor `tensor` shows. Errors: the files give the
  /// other value for the key, or a value other than true and false.
  bool shown(const char* key, bool value, const char* tensor) const;
  /// Returns the number of positions that a key has. Errors: those of count(); more than
  /// kMostPositions.
  int64_t positions(const char* key) const;
  /// True if the tensors are those of a translation model.
  bool is_translation() const;
  /// Returns the table of the words that a model of a task (`lm`, `mt`) predicts. Errors name the
  /// directory: the tensors are those of the other task; there is no such table.
  const Tensor& embedding(std::string_view task) const;
  /// Checks `task` and `norm_first`. Errors: the files name another task (`lm`, `mt`) than the task
  /// to which `tensor` belongs; PyTorch's `norm_first` contradicts `norm`.
  void check_kind(const char* task, const char* tensor) const;
  /// Checks that the tensors have the type of the tensor `table`, in which the model computes.
  /// Gives a notice() if a weight has another type and is converted. Error: the key `dtype` names
  /// another type. A foreign model may name a type other than float32 and float64.
  void check_types(const char* table) const;
  /// Returns the head that the files describe, or lin if no file describes a head; the tensors show
  /// its bias. Errors: a setting is wrong; the buffers of the head (head_buffers) are not those of
  /// its norms.
  HeadConfig head() const;
  /// Checks the key `tied` of the metadata. Error: `tied` does not say that `shown` are the
  /// tensors' ties (tie_text).
  void check_ties(const std::string& shown) const;
  /// Checks the key `positions` against the tensors: learned if there is a table, the tensor
  /// `table`; another kind if there is none. Error: they differ.
  void check_positions(bool learned, const char* table);
  /// Checks a key for which Nine supports a single number. Error: config.json has another number.
  void only(const char* key, double wanted);
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
  /// Gives a notice() of what was assumed, if anything was. Errors, of a foreign model: the files
  /// have another program's key for something that was assumed, or for a setting that Nine lacks.
  void say_assumed() const;
  /// Calls `open`, which makes a network of the files. An Error in it names the directory.
  template <class F>
  void opening(F&& open) const {
    try {
      open();
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {
      if (names_directory(e.what())) throw;
      fail(directory.string(), ": ", e.what());
    }
  }

 private:
  bool names_directory(std::string_view message) const;
  void check_buffers(const HeadConfig& head) const;
  void require_known_settings() const;
  std::string text_or(const char* key, const std::string& usual);
};

/// Reads a directory that model_directory() found. Gives a notice() of a beginning of names that
/// was left out and of another program's state.json. Errors: weight_files', model_config's and
/// read_finite_weights'; parts of a model that do not fit their index; two tensors of one name; a
/// state.json that is not a regular file; tensors of an optimiser; word vectors that are all 0; a
/// run's config.json that resolved other sizes than the tensors have.
ModelFiles read_model(const std::filesystem::path& directory,
                      ExcludedWords words = ExcludedWords::by_infinity);

}  // namespace nine
