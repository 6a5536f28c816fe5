// Reads tokenizer.json, tekken.json, and vocab.json with merges.txt.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_stream.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/json_parts.h"
#include "data/tokenizers/named_splits.h"
#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/tekken_file.h"
#include "data/tokenizers/word_level_model.h"

namespace nine {

namespace {

// The functions below write `if (...) fail(...)` where require() would make the text of a value
// that is large, or of each of many values.
int32_t id_of(const Json& value, const char* what, std::string_view token = {}) {
  if (!value.is_number_integer() || value < 0 || value >= (1 << 24))
    fail(what, token.empty() ? "" : concat(quote(token)), " is ", shortened(json_text(value)),
         ", and an id was expected");
  return value.get<int32_t>();
}

std::vector<AddedToken> added_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  const auto found = json.find("added_tokens");
  if (found == json.end() || found->is_null()) return tokens;
  for (const Json& one : array_member(json, "added_tokens")) {
    if (!one.is_object()) fail(unexpected_value("added_tokens", one, "a list of objects"));
    check_members(one, "added token",
                  {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    tokens.push_back(
        {.content = text_member(one, "content"),
         .id = id_of(one.contains("id") ? one["id"] : Json(), "the id of an added token"),
         .special = bool_member(one, "special", false),
         .single_word = bool_member(one, "single_word", false),
         .lstrip = bool_member(one, "lstrip", false),
         .rstrip = bool_member(one, "rstrip", false),
         .normalized = bool_member(one, "normalized", true)});
    require(!tokens.back().content.empty(), "an added token is empty");
  }
  return tokens;
}

void add_merge(const TokenList& tokens, std::string_view left, std::string_view right,
               MergeTable& merges) {
  const int32_t a = tokens.find(left), b = tokens.find(right);
  const std::string joined = concat(left, right);
  const int32_t result = tokens.find(joined);
  require(a >= 0 && b >= 0 && result >= 0, "the merge of ", quote(left), " and ", quote(right),
          " has a token that the vocabulary lacks: ",
          quote(a < 0   ? left
                : b < 0 ? right
                        : std::string_view(joined)));
  require(merges.add(a, b, {static_cast<uint32_t>(merges.size()), result}), "the merge of ",
          quote(left), " and ", quote(right), " is there twice");
}

void read_vocabulary(const Json& vocab, TokenList& tokens) {
  if (!vocab.is_object()) fail(unexpected_value("vocab", vocab, "an object of tokens and ids"));
  for (const auto& [token, id] : vocab.items()) tokens.add(token, id_of(id, "the id of ", token));
}

int32_t unknown_token(const Json& model, const TokenList& tokens) {
  const std::string unknown = text_member(model, "unk_token", "");
  if (unknown.empty()) return -1;
  require(tokens.find(unknown) >= 0, "the vocabulary lacks the unk_token ", quote(unknown));
  return tokens.find(unknown);
}

// The elements of the model's vocab and merges, which are many.
struct ModelLists {
  TokenList tokens;
  std::vector<double> scores;  // of a vocab that is an array
  std::string wrong_score;     // the complaint about the first element that is no token and score
  std::string merged;          // the texts of all merges, one after another
  std::vector<size_t> merge_ends;

  void take_token(const std::string* key, const Json& value) {
    if (key != nullptr) {
      tokens.add(*key, id_of(value, "the id of ", *key));
    } else if (value.is_array() && value.size() == 2 && value[0].is_string() &&
               value[1].is_number()) {
      tokens.add(value[0].get_ref<const std::string&>(), std::ssize(scores));
      scores.push_back(value[1]);
    } else if (wrong_score.empty()) {
      wrong_score = unexpected_value("vocab", value, "a list of tokens and scores");
    }
  }
  void take_merge(const Json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      put(merge[0].get_ref<const std::string&>());
      put(merge[1].get_ref<const std::string&>());
      return;
    }
    const std::string_view text =
        merge.is_string() ? std::string_view(merge.get_ref<const std::string&>()) : "";
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      fail("the merge ", shortened(json_text(merge)), " is not two tokens");
    put(text.substr(0, space));
    put(text.substr(space + 1));
  }
  std::string_view merge_text(size_t i) const {
    const size_t begin = i == 0 ? 0 : merge_ends[i - 1];
    return std::string_view(merged).substr(begin, merge_ends[i] - begin);
  }

 private:
  void put(std::string_view text) {
    merged += text;
    merge_ends.push_back(merged.size());
  }
};

// Takes over the tokens of a vocab that is an object.
void take_vocabulary(const Json& model, ModelLists& lists, TokenizerParts& parts) {
  require(model.contains("vocab"), "the model has no vocab");
  if (!model["vocab"].is_object())
    fail(unexpected_value("vocab", model["vocab"], "an object of tokens and ids"));
  parts.vocabulary = std::move(lists.tokens);
}

void read_bpe(const Json& model, bool of_bytes, ModelLists& lists, TokenizerParts& parts) {
  check_members(model, "model BPE",
                {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                 "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  const auto dropout = model.find("dropout");
  require(dropout == model.end() || dropout->is_null() || *dropout == 0,
          unexpected_value("dropout", dropout == model.end() ? Json() : *dropout, "null"));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    require(text_member(model, key, "").empty(), "the model has a ", key,
            ", which Nine does not know");
  take_vocabulary(model, lists, parts);
  array_member(model, "merges");
  MergeTable merges;
  for (size_t i = 0; i < lists.merge_ends.size(); i += 2)
    add_merge(parts.vocabulary, lists.merge_text(i), lists.merge_text(i + 1), merges);
  parts.model = std::make_unique<BpeModel>(
      parts.vocabulary, std::move(merges),
      BpeModel::Settings{.of_bytes = of_bytes,
                         .ignore_merges = bool_member(model, "ignore_merges", false),
                         .byte_fallback = bool_member(model, "byte_fallback", false),
                         .fuse_unknown = bool_member(model, "fuse_unk", false),
                         .unknown = unknown_token(model, parts.vocabulary)});
}

void read_unigram(const Json& model, bool of_bytes, ModelLists& lists, TokenizerParts& parts) {
  check_members(model, "model Unigram", {"unk_id", "vocab", "byte_fallback"});
  require(!of_bytes,
          "the model Unigram follows the pre_tokenizer ByteLevel, which Nine does not "
          "know");
  array_member(model, "vocab");
  if (!lists.wrong_score.empty()) fail(lists.wrong_score);
  parts.vocabulary = std::move(lists.tokens);
  std::vector<double>& scores = lists.scores;
  const int64_t unknown = int_member(model, "unk_id", -1);
  require(unknown >= -1 && unknown < std::ssize(scores), "the unk_id is ", unknown,
          ", and the vocabulary has ", scores.size(), " tokens");
  UnigramModel::Settings settings{.unknown = static_cast<int32_t>(unknown),
                                  .byte_fallback = bool_member(model, "byte_fallback", false)};
  for (const AddedToken& token : parts.added)
    if (token.special && parts.vocabulary.has(token.id)) settings.not_in_text.push_back(token.id);
  parts.model =
      std::make_unique<UnigramModel>(parts.vocabulary, std::move(scores), std::move(settings));
}

void read_word_level(const Json& model, bool of_bytes, ModelLists& lists, TokenizerParts& parts) {
  check_members(model, "model WordLevel", {"vocab", "unk_token"});
  require(!of_bytes,
          "the model WordLevel follows the pre_tokenizer ByteLevel, which Nine does not know");
  take_vocabulary(model, lists, parts);
  const std::string unknown = text_member(model, "unk_token", "<unk>");
  parts.model = std::make_unique<WordLevelModel>(parts.vocabulary, parts.vocabulary.find(unknown));
}

// Reads one side of a template: tokens before the text, or behind it.
void read_template(const Json& part, TokenizerParts& parts) {
  check_members(part, "post_processor TemplateProcessing", {"single", "pair", "special_tokens"});
  bool behind = false;
  const Json special = part.contains("special_tokens") ? part["special_tokens"] : Json();
  for (const Json& one : array_member(part, "single")) {
    require(one.is_object() && one.size() == 1 && one.begin()->is_object(),
            unexpected_value("single", one, "a list of sequences and special tokens"));
    if (one.begin().key() == "Sequence") {
      require(!behind, "the post_processor has the text twice");
      behind = true;
      continue;
    }
    require(one.begin().key() == "SpecialToken", "the post_processor has ",
            quote(one.begin().key()), ", which Nine does not know");
    const std::string token = text_member(*one.begin(), "id");
    require(special.is_object() && special.contains(token) && special[token].is_object(),
            "the special_tokens of the post_processor lack ", quote(token));
    for (const Json& id : array_member(special[token], "ids"))
      (behind ? parts.after : parts.before).push_back(id_of(id, "the id of ", token));
  }
  require(behind, "the post_processor leaves out the text");
}

void read_post_processor(const Json& part, int depth, TokenizerParts& parts) {
  if (part.is_null()) return;
  require(depth < kTokenizerLevels, "the post_processor has more than ", kTokenizerLevels,
          " levels");
  const std::string type = part_type(part, "post_processor");
  if (type == "Sequence") {
    for (const Json& one : array_member(part, "processors"))
      read_post_processor(one, depth + 1, parts);
  } else if (type == "TemplateProcessing") {
    require(parts.before.empty() && parts.after.empty(), "the post_processor has two templates");
    read_template(part, parts);
  } else {
    require(type == "ByteLevel", "the post_processor ", quote(type),
            " is of a type that Nine does not know; it knows ByteLevel, Sequence and "
            "TemplateProcessing");
  }
}

std::shared_ptr<const Json> member(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : std::make_shared<Json>(*found);
}

std::unique_ptr<Tokenizer> tokenizer_of(const std::string& text) {
  ModelLists lists;
  const JsonStream streams[] = {
      {"model", "vocab",
       [&](const std::string* key, const Json& value) { lists.take_token(key, value); }},
      {"model", "merges", [&](const std::string*, const Json& value) { lists.take_merge(value); }}};
  const Json json = require_json_object(text, streams);
  if (is_tekken(json)) return tekken_tokenizer(json);
  check_members(json, "tokenizer",
                {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"});
  if (const auto version = member(json, "version"))
    require(*version == "1.0", "the key 'version' is ", shortened(json_text(*version)),
            ", and \"1.0\" was expected, the only version that Nine knows");
  TokenizerParts parts;
  parts.normalizer = member(json, "normalizer");
  parts.pre_tokenizer = member(json, "pre_tokenizer");
  parts.post_processor = member(json, "post_processor");
  parts.decoder = member(json, "decoder");
  parts.added = added_tokens(json);
  require(json.contains("model") && json["model"].is_object(), "it has no model");
  const Json& model = json["model"];
  const bool of_bytes =
      PreTokenizer(parts.pre_tokenizer ? *parts.pre_tokenizer : Json()).of_bytes();
  // Old files leave out the type.
  const std::string type = model.contains("type")     ? part_type(model, "model")
                           : model.contains("merges") ? "BPE"
                                                      : "";
  if (type == "BPE") {
    read_bpe(model, of_bytes, lists, parts);
  } else if (type == "Unigram") {
    read_unigram(model, of_bytes, lists, parts);
  } else if (type == "WordLevel") {
    read_word_level(model, of_bytes, lists, parts);
  } else {
    fail("the model ", quote(type),
         " is of a type that Nine does not know; it knows BPE, Unigram and WordLevel");
  }
  read_post_processor(parts.post_processor ? *parts.post_processor : Json(), 0, parts);
  auto tokenizer = std::make_unique<PipelineTokenizer>(std::move(parts));
  return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer_json(const std::string& text, const std::string& name) {
  try {
    return tokenizer_of(text);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail(name, ": ", e.what());
  }
}

std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::string& vocabulary,
                                                      const std::string& merges,
                                                      const std::string& name) {
  try {
    TokenizerParts parts;
    read_vocabulary(require_json_object(vocabulary), parts.vocabulary);
    MergeTable table;
    int64_t number = 0;
    for (std::string_view rest = merges; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
      const size_t space = line.find(' ');
      require(
          space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos,
          "line ", number, " of the merges, ", quote(line), ", is not two tokens");
      require(!line.ends_with("</w>"), "line ", number, " of the merges, ", quote(line),
              ", ends a word with </w>, as the merges of GPT-1, CLIP and XLM, which Nine does not "
              "know");
      add_merge(parts.vocabulary, line.substr(0, space), line.substr(space + 1), table);
    }
    constexpr std::string_view kEnd = "<|endoftext|>";
    if (parts.vocabulary.find(kEnd) >= 0)
      parts.added.push_back(
          {.content = std::string(kEnd), .id = parts.vocabulary.find(kEnd), .special = true});
    set_split(parts, Split::gpt2);
    parts.model =
        std::make_unique<BpeModel>(parts.vocabulary, std::move(table), BpeModel::Settings{});
    return std::make_unique<PipelineTokenizer>(std::move(parts));
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail(name, ": ", e.what());
  }
}

}  // namespace nine
