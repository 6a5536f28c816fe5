// The models that the server answers with.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/nine_serve/text_steps.h"
#include "core/device.h"
#include "data/unknown_words.h"
#include "nn/decoding_head.h"
#include "nn/models/language_model.h"
#include "nn/models/translator.h"

namespace nine::app {

/// What the command line says of a model: its name and its place, and of a translation model the
/// codes of its languages.
struct ModelSource {
  std::string name, path, from, to;

  /// Reads "runs/lm", "NAME=runs/lm" or "NAME:de-en=runs/mt". The name is otherwise the last part
  /// of the path. UsageError: there is no name or no path.
  static ModelSource parse(const std::string& text);
};

/// The error of a text of words with a NUL, as the other programs refuse it in a file.
inline constexpr const char* kNul = "the text has a NUL character: leave it out";

/// A model in memory: a language model or a translation model.
class ServedModel {
 public:
  /// Opens the model. Errors: those of LanguageModel::load() and Translator::load(); a language
  /// model with codes of languages.
  ServedModel(const ModelSource& source, Device device);

  const std::string& name() const { return source_.name; }
  const ModelSource& source() const { return source_; }
  bool translates() const { return translator_.has_value(); }
  int64_t loaded() const { return loaded_; }  ///< seconds since 1970

  /// Return the model. language() requires that translates() is false, and translator() that it is
  /// true; neither checks this.
  const LanguageModel& language() const { return *language_; }
  const Translator& translator() const { return *translator_; }

  /// Returns the ids of a text or of tokens as the API counts them. ApiErrors, about `field` of the
  /// request: an id that the model does not have; a line end or a NUL in a text for a model of
  /// words.
  std::vector<int32_t> ids(const std::string& text, const char* field) const;
  std::vector<int32_t> ids(const std::vector<int32_t>& tokens, const char* field) const;
  /// Adds the ids of a text and its end to the numbers of tokens.
  void count(std::span<const int32_t> ids, TokenCounts& counts) const;
  /// ApiError: more than the share `most` of the tokens of the request's `field` is unknown.
  void require_known(const TokenCounts& counts, double most, const char* field) const;
  /// Returns the API's number of a token. A model of raw text counts as its tokenizer does, and
  /// </s> comes behind the tokenizer's last token. A model of words counts as dict.txt does.
  int32_t token(int32_t id) const;
  /// Returns the bytes that a token adds to a text; `first`: the text has no token before it.
  std::string bytes(int32_t id, bool first) const;
  /// Returns the same as text for people: "</s>", and U+FFFD for bytes that are no character.
  std::string spelled(int32_t id, bool first) const;
  bool reads_raw_text() const { return language().tokenizer() != nullptr; }

  /// Lends a reader of texts, which costs packing the weights when none is free. For one thread.
  /// `pool_bytes`: as for TextSteps, of a reader that is made.
  std::unique_ptr<TextSteps> take_steps(size_t pool_bytes) const;
  void give_back(std::unique_ptr<TextSteps> steps) const;

 private:
  ModelSource source_;
  int64_t loaded_;
  std::optional<LanguageModel> language_;
  std::optional<Translator> translator_;
  std::optional<DecodingHead> head_;
  mutable std::vector<std::unique_ptr<TextSteps>> free_;
};

using ModelPointer = std::shared_ptr<const ServedModel>;

/// Returns the bytes of a pool of text steps where `free_bytes` are free and each of `models`
/// language models may have `groups` pools. Half of the memory is left for translations, for a
/// reload, and for what a group keeps outside of its pool.
size_t text_pool_bytes(size_t free_bytes, int64_t models, int64_t groups);

/// The models of the command line. Any thread may call the functions.
class ServedModels {
 public:
  /// Opens all models. Errors: those of ServedModel; two models of one name.
  ServedModels(const std::vector<ModelSource>& sources, Device device);

  /// Opens all models anew; requests that run keep theirs. Returns an error for each model that
  /// cannot be opened, which stays as it is.
  std::vector<std::string> reload();

  std::vector<ModelPointer> all() const;
  /// Returns text_pool_bytes() of the device; 0 on a CPU, whose pools take memory as they need it.
  size_t text_pool_bytes(int64_t groups) const;
  /// Returns the model called `name`. If `name` is empty, returns the only model of the kind that
  /// `translates` asks for. ApiErrors: 404 if there is no such model; 400 if the model is of the
  /// other kind, or if `name` is empty and there are several.
  ModelPointer find(const std::string& name, bool translates) const;

 private:
  std::vector<ModelSource> sources_;
  Device device_;
  mutable std::mutex mutex_;
  std::vector<ModelPointer> models_;
};

}  // namespace nine::app
