// The files of a trained model as they are read: Nine's own, or another program's, for which
// docs/pytorch.md says what must be said of them and what is assumed.
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

/// The files that hold a directory's tensors: model.safetensors, or model.safetensors.index.json
/// and the files that it names. Error: that index is damaged, or names a file outside.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& directory);

/// A part of a model's files that says something of it.
struct ModelSource {
  std::string place;     ///< for messages: "DIR/config.json", "the metadata of DIR/FILE"
  Json keys;             ///< an object
  bool implied = false;  ///< true: not said, but meant by the keys that Nine left out there
};

/// What a directory holds of its model.
struct ModelFiles {
  std::filesystem::path directory;
  /// Without the parts `module`, `_orig_mod` and `_fsdp_wrapped_module` of names, which PyTorch's
  /// wrappers add, and without what all names begin with, `model.` of a Lightning checkpoint;
  /// bfloat16 is widened to float32.
  Safetensors weights;
  /// config.json, what a run resolved there, the metadata of each file of weights, and, last, what
  /// Nine's metadata imply.
  std::vector<ModelSource> sources;
  bool foreign = false;           ///< nothing shows that Nine wrote it
  Json assumed = Json::object();  ///< of a foreign model: keys that were needed and nowhere said

  /// The value of a key; null if nobody says it. Error: two sources contradict each other; the
  /// message has both values and both places.
  const Json* find(std::string_view key) const;
  bool says(const char* key) const { return find(key) != nullptr; }
  /// The place that says a key, for messages; config.json if nobody says it.
  std::string said_in(std::string_view key) const;
  /// The whole number from 1 on under a key, also as a text (metadata has texts). Error: it is
  /// none, or nobody says it.
  int64_t count(const char* key) const;
  /// The number under a key, also as a text; `usual` where nobody says it, which is assumed then.
  double number(const char* key, double usual);
  /// The same of a factor. Error: in float32, which computes, it is 0 or infinite.
  double factor(const char* key, double usual);
  /// The size `size` of tensors; `before` and `after` it say where. Error: of the key another one
  /// is said.
  int64_t shown(const char* key, int64_t size, std::string_view before,
                std::string_view after) const;
  /// What a tensor's being there shows, or not. Error: of the key the other is said.
  bool shown(const char* key, bool value, const char* tensor) const;
  /// Error: the files say that they are of another task (`lm`, `mt`), which `tensor` contradicts,
  /// or PyTorch's `norm_first` and `norm` contradict each other.
  void check_kind(const char* task, const char* tensor) const;
  /// The head that the files describe, lin where nobody says it; the tensors show its bias. Errors:
  /// a setting is wrong; the buffers of the head (head_buffers) are not those of its norms.
  HeadConfig head() const;
  /// Error: `tied` of the metadata does not say that `shown` are the tensors' ties (tie_text).
  void check_ties(const std::string& shown) const;
  /// Error: `positions` says something else than the tensors do: learned if there is a table, the
  /// tensor `table`, sinusoidal if there is none.
  void check_positions(bool learned, const char* table);
  /// Of a key for which Nine has one number alone. Error: config.json says another.
  void only(const char* key, double number);
  /// The value that a key names; `usual` where nobody says it, which is assumed then.
  template <NamedEnum E>
  E choice(const char* key, E usual) {
    const std::string text = text_or(key, to_text(usual));
    try {
      return enum_from_text<E>(text);
    } catch (const UsageError& e) {
      fail(said_in(key), ": the key '", key, "': ", e.what());
    }
  }
  /// The same for which Nine has one value alone. Error: config.json says another.
  template <NamedEnum E>
  void only(const char* key, E value) {
    require(choice(key, value) == value, said_in(key), ": the key '", key, "' is '",
            to_text(choice(key, value)), "', but such a model has ", to_text(value), " alone here");
  }
  /// The head, lin, where nobody says it.
  void assume_head() {
    if (foreign && !says("head")) assumed["head"] = "lin";
  }
  /// Error, which lists all of `keys` that nobody says and what to write: of a model of PyTorch's
  /// defaults, and `more`, of what PyTorch lacks.
  void require_keys(std::initializer_list<const char*> keys, std::string_view more = {}) const;
  /// Gives a notice() of what was assumed, if anything was.
  void say_assumed() const;
  /// Calls `open`, which makes a network of the files. An Error in it names the directory.
  template <class F>
  void opening(F&& open) const {
    try {
      open();
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {
      if (std::string_view(e.what()).find(directory.string()) != std::string_view::npos) throw;
      fail(directory.string(), ": ", e.what());
    }
  }

 private:
  void check_buffers(const HeadConfig& head) const;
  std::string text_or(const char* key, const std::string& usual);
};

/// Reads a directory that model_directory() found. Gives a notice() of a beginning of names that
/// was left out and of another program's state.json. Errors: weight_files', model_config's and
/// read_finite_weights'; parts of a model that do not fit their index; two tensors of one name; a
/// state.json that is not a regular file.
ModelFiles read_model(const std::filesystem::path& directory,
                      ExcludedWords words = ExcludedWords::allowed);

}  // namespace nine
