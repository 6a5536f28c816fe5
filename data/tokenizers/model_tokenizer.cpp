#include "data/tokenizers/model_tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {
namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

constexpr const char *kJson = "tokenizer.json", *kSentencePiece = "tokenizer.model";

std::string file_name(std::string_view side, const char* name) {
  return side.empty() ? std::string(name) : concat(side, '.', name);
}

// True if a line of dict.txt can hold the token as its word.
bool fits_dictionary(std::string_view token) {
  return !token.empty() && token.find_first_of(" \t\n\r\0"s) == std::string_view::npos &&
         find_invalid_utf8(token) == std::string_view::npos;
}

}  // namespace

ModelTokenizer::ModelTokenizer(std::unique_ptr<Tokenizer> tokenizer, const Specials& specials,
                               const char* name, std::string file)
    : tokenizer_(std::move(tokenizer)),
      specials_(specials),
      tokens_(tokenizer_->size()),
      name_(name),
      file_(std::move(file)) {
  require(tokens_ > 0, "the tokenizer has no tokens");
}

ModelTokenizer::ModelTokenizer(std::unique_ptr<Tokenizer> tokenizer, const Specials& specials)
    : ModelTokenizer(std::move(tokenizer), specials, kJson, "") {
  file_ = tokenizer_->json();
}

ModelTokenizer ModelTokenizer::of_file(const std::string& path, const Specials& specials,
                                       int64_t entries, const TokenizerFileOptions& options) {
  std::unique_ptr<Tokenizer> tokenizer = read_tokenizer(path, options);
  const auto made = [&]() -> ModelTokenizer {
    try {
      std::string json = tokenizer->json();
      return {std::move(tokenizer), specials, kJson, std::move(json)};
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error&) {  // a SentencePiece model, which has no tokenizer.json
      const fs::path file =
          fs::is_directory(path) ? fs::path(path) / kSentencePiece : fs::path(path);
      std::string bytes = read_text(file);
      read_sentencepiece(bytes, file.string());
      return {std::move(tokenizer), specials, kSentencePiece, std::move(bytes)};
    }
  };
  ModelTokenizer out = made();
  if (entries == 0) return out;
  require(entries - specials.size >= out.tokens_, path, " has ", out.tokens_,
          " tokens, and the model's dictionary has ", entries - specials.size,
          ": put the model's own files together");
  out.tokens_ = static_cast<int32_t>(entries - specials.size);
  return out;
}

fs::path ModelTokenizer::file_in(const fs::path& directory, std::string_view side) {
  for (const std::string_view owner : {side, std::string_view()}) {
    fs::path json = directory / file_name(owner, kJson),
             model = directory / file_name(owner, kSentencePiece);
    require(!is_there(json) || !is_there(model), directory.string(), " has ",
            json.filename().string(), " and ", model.filename().string(),
            ": keep the one of the model");
    if (is_there(json)) return json;
    if (is_there(model)) return model;
  }
  return {};
}

const std::vector<std::string>& ModelTokenizer::file_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const char* side : {"", "src", "tgt"})
      for (const char* name : {kJson, kSentencePiece}) all.push_back(file_name(side, name));
    return all;
  }();
  return names;
}

std::optional<ModelTokenizer> ModelTokenizer::open(const fs::path& directory, std::string_view side,
                                                   const Vocabulary& dictionary) {
  const fs::path file = file_in(directory, side);
  if (file.empty()) return std::nullopt;
  require_regular_file(file);
  ModelTokenizer opened = of_file(file.string(), dictionary.specials(), dictionary.size());
  const Vocabulary own = opened.dictionary();
  for (int32_t id = 0; id < own.size(); ++id)
    require(own.word(id) == dictionary.word(id), file.string(), ": the token ",
            id - dictionary.specials().size, " is ", quote(own.word(id)),
            ", and in the model's dictionary it is ", quote(dictionary.word(id)),
            ": put the model's own files together");
  return opened;
}

std::pair<std::string, std::string> ModelTokenizer::file(std::string_view side) const {
  return {file_name(side, name_.c_str()), file_};
}

uint32_t ModelTokenizer::checksum() const { return crc32c(0, file_.data(), file_.size()); }

Vocabulary ModelTokenizer::dictionary() const {
  std::vector<std::string> words;
  std::unordered_set<std::string_view> special;
  for (int32_t id = 0; id < specials_.size; ++id) special.insert(specials_.text(id));
  for (int32_t id = 0; id < tokens_; ++id) {
    const std::string_view token = id < tokenizer_->size() ? tokenizer_->token(id) : "";
    // A special word, a token with white space and an id without token cannot be a line's word.
    words.push_back(fits_dictionary(token) && !special.contains(token) ? std::string(token)
                                                                       : concat("<id_", id, '>'));
  }
  return Vocabulary::of_list(words, specials_);
}

void ModelTokenizer::encode(std::string_view text, TokenCache& cache,
                            std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  for_each_raw_line(text, [&](std::string_view line) { tokenizer_->encode(line, {}, cache, ids); });
  for (size_t i = first; i < ids.size(); ++i) ids[i] += specials_.size;
}

std::vector<int32_t> ModelTokenizer::encode(std::string_view text) const {
  TokenCache cache;
  std::vector<int32_t> ids;
  encode(text, cache, ids);
  return ids;
}

std::string ModelTokenizer::decode(std::span<const int32_t> ids) const {
  std::vector<int32_t> own;
  for (const int32_t id : ids)
    if (id < 0 || (id >= specials_.size && !is_without_text(id)))
      own.push_back(id - specials_.size);
  return tokenizer_->decode(own);
}

std::string ModelTokenizer::bytes(int32_t id) const {
  if ((id >= 0 && id < specials_.size) || is_without_text(id)) return {};
  const int32_t own = id - specials_.size;
  require(own >= 0 && own < tokenizer_->size(), "no token has the id ", id, ": the dictionary has ",
          tokenizer_->size() + specials_.size);
  return tokenizer_->is_special(own) ? std::string() : tokenizer_->token_bytes(own);
}

std::string visible_text(std::string_view text) {
  bool bad = false;
  return visible_text(text, bad);
}

std::string visible_text(std::string_view part, bool& bad) {
  std::string out;
  while (!part.empty()) {
    const size_t valid = std::min(find_invalid_utf8(part), part.size());
    out += part.substr(0, valid);
    if (valid > 0) bad = false;
    part.remove_prefix(valid);
    if (part.empty()) break;
    if (!bad) out += "\xEF\xBF\xBD";
    bad = true;
    part.remove_prefix(1);
  }
  return out;
}

}  // namespace nine
