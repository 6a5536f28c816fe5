#include "apps/nine_serve/served_model.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "apps/nine_serve/api_error.h"
#include "core/op_table.h"
#include "core/quote.h"
#include "data/tokenizers/model_tokenizer.h"
#include "nn/models/model_directory.h"

namespace nine::app {

namespace fs = std::filesystem;

ModelSource ModelSource::parse(const std::string& text) {
  ModelSource out;
  const size_t equals = text.find('=');
  out.path = equals == std::string::npos ? text : text.substr(equals + 1);
  if (out.path.empty())
    fail_usage("the model ", quote(text), " has no directory; give DIR or NAME=DIR");
  if (equals == std::string::npos) {
    fs::path path = fs::path(out.path).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    out.name = path.filename().string();
  } else {
    out.name = text.substr(0, equals);
    if (const size_t colon = out.name.find(':'); colon != std::string::npos) {
      const std::string codes = out.name.substr(colon + 1);
      const size_t dash = codes.find('-');
      if (dash == std::string::npos || dash == 0 || dash + 1 == codes.size())
        fail_usage("the languages ", quote(codes), " of ", quote(text),
                   " are not two codes with a dash between them, such as de-en");
      out.from = codes.substr(0, dash);
      out.to = codes.substr(dash + 1);
      out.name.resize(colon);
    }
  }
  if (out.name.empty() || out.name == "." || out.name == "..")
    fail_usage("the model ", quote(text), " has no name; give NAME=DIR");
  return out;
}

ServedModel::ServedModel(const ModelSource& source, Device device)
    : source_(source),
      loaded_(std::chrono::duration_cast<std::chrono::seconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count()) {
  if (fs::exists(model_directory(source_.path) / kSourceDict)) {
    translator_.emplace(Translator::load(source_.path, {}, device));
    translator_->search();  // packs the weights before the first request
    if (source_.from.empty()) {
      source_.from = "src";
      source_.to = "tgt";
    }
    return;
  }
  require(source_.from.empty(), source_.path,
          " is a language model, which has no languages to translate: leave out ", source_.from,
          "-", source_.to);
  language_.emplace(LanguageModel::load(source_.path, device));
  head_.emplace(language_->network().head());
}

std::vector<int32_t> ServedModel::ids(const std::string& text, const char* field) const {
  if (const ModelTokenizer* tokenizer = language().tokenizer()) return tokenizer->encode(text);
  require_field(text.find_first_of("\n\r") == std::string::npos, field,
                "the text has an end of line, and the model ", name(),
                " reads one sentence of words: send each line as a text");
  require_field(text.find('\0') == std::string::npos, field, kNul);
  return language().vocabulary().encode(text);
}

std::vector<int32_t> ServedModel::ids(const std::vector<int32_t>& tokens, const char* field) const {
  const int32_t words = static_cast<int32_t>(language().network().vocab()),
                shift = reads_raw_text() ? Specials::kLanguageModel.size : 0;
  std::vector<int32_t> ids;
  for (const int32_t token : tokens) {
    const bool is_end = shift > 0 && token == words - shift;
    const int64_t id = is_end ? Specials::kLanguageModel.end : int64_t{token} + shift;
    const bool known = id < words;
    const int32_t last = shift > 0 ? words - shift : words - 1;
    require_field(known, field, "the model ", name(), " has no token ", token,
                  ": its tokens are 0 to ", last);
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

void ServedModel::count(std::span<const int32_t> ids, TokenCounts& counts) const {
  const int32_t unknown = translates() ? translator().source_unknown() : language().unknown();
  counts.tokens += std::ssize(ids) + 1;
  counts.unknown += std::ranges::count(ids, unknown);
}

void ServedModel::require_known(const TokenCounts& counts, double most, const char* field) const {
  try {
    nine::require_known(counts, most, concat("the key '", field, "'"),
                        concat("the model ", name()));
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    throw ApiError(400, e.what(), field);
  }
}

int32_t ServedModel::token(int32_t id) const {
  if (!reads_raw_text()) return id;
  const int32_t shift = Specials::kLanguageModel.size;
  return id >= shift ? id - shift : static_cast<int32_t>(language().network().vocab()) - shift;
}

std::string ServedModel::bytes(int32_t id, bool first) const {
  if (id == Specials::kLanguageModel.end) return "";
  if (const ModelTokenizer* tokenizer = language().tokenizer())
    return first ? tokenizer->decode({&id, 1}) : tokenizer->bytes(id);
  return concat(first ? "" : " ", language().vocabulary().word(id));
}

std::string ServedModel::spelled(int32_t id, bool first) const {
  return id == Specials::kLanguageModel.end ? "</s>" : visible_text(bytes(id, first));
}

std::unique_ptr<TextSteps> ServedModel::take_steps(size_t pool_bytes) const {
  if (free_.empty()) return std::make_unique<TextSteps>(language().network(), *head_, pool_bytes);
  std::unique_ptr<TextSteps> steps = std::move(free_.back());
  free_.pop_back();
  return steps;
}

void ServedModel::give_back(std::unique_ptr<TextSteps> steps) const {
  free_.push_back(std::move(steps));
}

ServedModels::ServedModels(const std::vector<ModelSource>& sources, Device device)
    : sources_(sources), device_(device) {
  std::set<std::string> names;
  for (const ModelSource& source : sources_)
    if (!names.insert(source.name).second)
      fail_usage("two models are called ", quote(source.name),
                 "; give one another name: NAME=", source.path);
  for (const ModelSource& source : sources_)
    models_.push_back(std::make_shared<ServedModel>(source, device_));
}

std::vector<std::string> ServedModels::reload() {
  std::vector<std::string> errors;
  for (size_t i = 0; i < sources_.size(); ++i) {
    try {
      ModelPointer model = std::make_shared<ServedModel>(sources_[i], device_);
      const std::lock_guard lock(mutex_);
      models_[i].swap(model);
    } catch (const std::exception& e) {
      errors.push_back(concat("the model ", sources_[i].name, " stays as it is: ", e.what()));
    }
  }
  return errors;
}

std::vector<ModelPointer> ServedModels::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

size_t text_pool_bytes(size_t free_bytes, int64_t models, int64_t groups) {
  return free_bytes / 2 / static_cast<size_t>(std::max<int64_t>(1, models * groups));
}

size_t ServedModels::text_pool_bytes(int64_t groups) const {
  if (device_ == kCpu) return 0;
  const auto models = all();
  const int64_t languages =
      std::ranges::count_if(models, [](const ModelPointer& model) { return !model->translates(); });
  return app::text_pool_bytes(op_table(device_).available(device_.index), languages, groups);
}

ModelPointer ServedModels::find(const std::string& name, bool translates) const {
  ModelPointer only;
  int64_t of_kind = 0;
  const char* const kind = translates ? "translation" : "language";
  for (const ModelPointer& model : all()) {
    if (model->name() == name) {
      require_field(model->translates() == translates, "model", "the model ", quote(name),
                    " is not a ", kind, " model");
      return model;
    }
    if (model->translates() != translates) continue;
    only = model;
    ++of_kind;
  }
  if (name.empty() && of_kind == 1) return only;
  if (name.empty() && of_kind > 1)
    throw ApiError(400,
                   concat("the key 'model' is missing, and there are ", of_kind, " ", kind,
                          " models: /v1/models lists them"),
                   "model");
  throw ApiError(404,
                 name.empty() ? concat("there is no ", kind, " model")
                              : concat("there is no model ", to_text(quote(name)),
                                       ": /v1/models lists the models"),
                 "model", "model_not_found");
}

}  // namespace nine::app
