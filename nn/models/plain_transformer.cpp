#include "nn/models/plain_transformer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/ops.h"
#include "core/quote.h"
#include "nn/models/hugging_face.h"
#include "nn/models/language_config.h"
#include "nn/models/language_words.h"
#include "nn/models/linear_form.h"
#include "nn/models/model_directory.h"
#include "nn/models/weight_type.h"

namespace nine {
namespace {

constexpr double kExcluded = -5000;  // a bias below it excludes a word
constexpr const char *kEmbedding = "embedding.weight", *kHead = "head.weight";

// Returns the network's name. Error: no other program has this network.
PlainNetwork network_of(const std::string& place, const TransformerStyle& style) {
  TransformerStyle gpt2 = TransformerStyle::gpt2(), llama = TransformerStyle::llama();
  const bool gated = is_gated(style.activation);
  gpt2.activation = gated ? gpt2.activation : style.activation;
  llama.kv_heads = style.kv_heads;
  llama.qk_norm = style.qk_norm;
  llama.rotary_base = style.rotary_base;
  llama.rotary_scaling = style.rotary_scaling;
  for (TransformerStyle* s : {&gpt2, &llama}) s->layer_norm_eps = style.layer_norm_eps;
  const auto differences = [&](const TransformerStyle& wanted) {
    std::vector<std::string> all;
    for (const StyleSetting& setting : style_settings()) {
      if (setting.has_effect != nullptr && !setting.has_effect(style)) continue;
      const std::string is = setting.text(style), must = setting.text(wanted);
      if (is != must)
        all.push_back(concat(setting.words, " '", is, "' where ",
                             must.empty() ? "the usual value" : concat('\'', must, '\''),
                             " is needed"));
    }
    return all;
  };
  const std::vector<std::string> of_gpt2 = differences(gpt2), of_llama = differences(llama);
  if (of_gpt2.empty()) return PlainNetwork::gpt2;
  if (of_llama.empty()) return style.qk_norm ? PlainNetwork::qwen3 : PlainNetwork::llama;
  const bool near_gpt2 = of_gpt2.size() <= of_llama.size();
  std::string all;
  for (const std::string& one : near_gpt2 ? of_gpt2 : of_llama)
    all += (all.empty() ? "" : ", ") + one;
  fail(place, ": the network is neither GPT-2's nor Llama's, which other programs know; for ",
       near_gpt2 ? "GPT-2's" : "Llama's", " it has ", all,
       ": train a model with the settings of one of them");
}

// Returns the factor of the inner product in the scores. Error: the scores are others.
double factor_of(const std::string& place, const HeadConfig& head, const HeadSpec& spec) {
  const std::optional<LinearForm> form = linear_form(head, spec);
  const bool biased = form && form->norm_factor != 0;
  const char* const what = spec.mixture      ? "a mixture"
                           : spec.contexts   ? "contexts of its own (head context tanh)"
                           : spec.untied     ? "word vectors for each component"
                           : head.norms      ? "norms of words or contexts"
                           : !form || biased ? "other scores than inner products"
                                             : nullptr;
  require(what == nullptr, place, ": the head ", spec.to_text(), " has ",
          what == nullptr ? "" : what,
          ", and the formats of other programs have inner products of words and contexts alone: "
          "train the head lin, or pol:p=1, on this body");
  return form->factor;
}

Tensor multiplied(const Tensor& tensor, double factor) {
  if (factor == 1) return tensor;
  Tensor out(tensor.shape(), DType::float32);
  std::transform(tensor.data<float>(), tensor.data<float>() + tensor.elements(), out.data<float>(),
                 [&](float x) { return static_cast<float>(x * factor); });
  return out;
}

Tensor table_of(const Tensor& table, const std::vector<int64_t>& rows) {
  const int64_t width = table.shape()[1];
  Tensor out({std::ssize(rows), width}, DType::float32);
  float* to = out.data<float>();
  for (const int64_t row : rows) to = std::copy_n(table.data<float>() + row * width, width, to);
  return out;
}

bool same_rows(const Tensor& table, int64_t a, int64_t b) {
  const int64_t width = table.shape()[1];
  const float* const data = table.data<float>();
  return std::equal(data + a * width, data + (a + 1) * width, data + b * width);
}

// Returns the words that a bias excludes. Error: the bias tells other words apart.
std::vector<int64_t> excluded_words(const std::string& place,
                                    const std::map<std::string, Tensor>& tensors) {
  std::vector<int64_t> excluded;
  const auto found = tensors.find("head.bias");
  if (found == tensors.end()) return excluded;
  std::optional<double> first;
  int64_t id = 0;
  for (const double bias : found->second.to_vector()) {
    if (bias < kExcluded) {
      excluded.push_back(id);
    } else {
      require(!first || *first == bias, place, ": the head has an output bias, and the formats of ",
              "other programs have none: train with --no-head-bias, or, from weights of such a ",
              "program (--init), with --freeze head.bias");
      first = bias;
    }
    ++id;
  }
  return excluded;
}

// Which row of Nine's tables each token has.
struct TokenRows {
  std::vector<int64_t> input, output;  // by token
  int64_t begin = 0, end = 0;
};

Json begin_template(const std::string& token, int64_t id) {
  const Json special = {{"SpecialToken", {{"id", token}, {"type_id", 0}}}},
             first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
             second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return {
      {"type", "TemplateProcessing"},
      {"single", Json::array({special, first})},
      {"pair", Json::array({special, first, second})},
      {"special_tokens",
       {{token, {{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}}}}}};
}

Json special_token(const std::string& token, int64_t id) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// A tokenizer.json while tokens are added to it.
class TokenizerFile {
 public:
  TokenizerFile(const std::string& place, const ModelTokenizer& tokenizer)
      : place_(place), tokenizer_(tokenizer.tokenizer()) {
    const auto [name, bytes] = tokenizer.file("");
    require(name == "tokenizer.json", place, ": its tokenizer is ", name,
            ", a SentencePiece model, and other programs need a tokenizer.json: let transformers "
            "convert it, and train with that file");
    json_ = parse_json(bytes);
    next_ = tokenizer_.size();
    if (json_["added_tokens"].is_null()) json_["added_tokens"] = Json::array();
  }

  int64_t tokens() const { return next_; }
  // Makes a token special. Error: the id has no token.
  void make_special(int64_t id) {
    require(id < tokenizer_.size() && !tokenizer_.token(static_cast<int32_t>(id)).empty(), place_,
            ": the token ", id, " begins or ends a text, and the tokenizer has no such token");
    Json& added = json_["added_tokens"];
    for (Json& token : added)
      if (token["id"] == id) {
        token["special"] = true;
        return;
      }
    added.push_back(special_token(std::string(tokenizer_.token(static_cast<int32_t>(id))), id));
    sort_added();
  }
  // Adds a special token behind all others and returns its id.
  int64_t add(std::string text) {
    for (int32_t id = 0; id < tokenizer_.size(); ++id)
      require(!tokenizer_.token(id).empty(), place_, ": the tokenizer has no token for the id ", id,
              ", so that no token can be added behind its last: train with another tokenizer");
    while (tokenizer_.find(text) >= 0) text = concat("<|", text.substr(1, text.size() - 2), "|>");
    json_["added_tokens"].push_back(special_token(text, next_));
    return next_++;
  }
  // Returns the file, which puts the token before a text.
  std::string text(int64_t begin) {
    std::string token;
    for (const Json& one : json_["added_tokens"])
      if (one["id"] == begin) token = one["content"];
    json_["post_processor"] = begin_template(token, begin);
    return json_text(json_, 2) + '\n';
  }

 private:
  void sort_added() {
    Json& added = json_["added_tokens"];
    std::stable_sort(added.begin(), added.end(),
                     [](const Json& a, const Json& b) { return a["id"] < b["id"]; });
  }

  const std::string& place_;
  const Tokenizer& tokenizer_;
  Json json_;
  int64_t next_ = 0;
};

// Gives each token its row. embedding and head have Nine's rows. `trained_on`: the excluded words
// have the bias that lm_train --init gives to those of transformers. `begin`: the token that began
// a text there, if the files say it.
TokenRows rows_of_tokens(const std::string& place, const std::vector<int64_t>& excluded,
                         bool trained_on, std::optional<int64_t> begin, const Tensor& embedding,
                         const Tensor& head, TokenizerFile& file) {
  constexpr int64_t kEnd = 0, kUnknown = 1, kFirst = 2;
  const int64_t words = embedding.shape()[0];
  const bool unknown = std::ranges::find(excluded, kUnknown) == excluded.end();
  require(excluded.size() <= 2 && (excluded.empty() || !unknown) &&
              std::ranges::find(excluded, kEnd) == excluded.end(),
          place, ": a bias excludes ", excluded.size(), " words of the model, and the formats of ",
          "other programs exclude no token: train without an output bias");
  TokenRows rows;
  for (int64_t row = kFirst; row < words; ++row) rows.input.push_back(row);
  if (excluded.size() == 2) {
    rows.output = rows.input;
    const int64_t replaced = excluded[1];
    // A model of transformers has the same vector for </s> and for the token whose place it took,
    // or, trained on, the bias that --init gives.
    require(trained_on || same_rows(head, kEnd, replaced), place, ": a bias excludes the word ",
            replaced, ", and the formats of other programs exclude no token: train without an ",
            "output bias");
    rows.begin = rows.end = replaced - kFirst;
    rows.output[static_cast<size_t>(rows.end)] = kEnd;
    int64_t row = begin.value_or(rows.end) + kFirst;
    if (!begin && !same_rows(embedding, kEnd, row)) {
      row = kFirst;
      while (row < words && !same_rows(embedding, kEnd, row)) ++row;
      if (row == words) row = replaced;
    }
    rows.begin = row - kFirst;
    rows.input[static_cast<size_t>(rows.begin)] = kEnd;  // most often the same vector
    for (const int64_t token : {rows.begin, rows.end}) file.make_special(token);
    return rows;
  }
  const auto behind = [&] { return rows.input.begin() + file.tokens(); };
  rows.input.insert(behind(), kEnd);
  rows.begin = rows.end = file.add("</s>");
  if (unknown) {
    rows.input.insert(behind(), kUnknown);
    file.add("<unk>");
  }
  rows.output = rows.input;
  return rows;
}

// Returns a tokenizer.json that cuts a text at spaces and tabs into words of the dictionary. Error:
// a word's id would be another.
std::string word_tokenizer(const std::string& place, const Vocabulary& words) {
  const Specials& specials = words.specials();
  const std::string end(specials.text(specials.end)), unknown(specials.text(specials.unknown));
  Json vocab = Json::object();
  for (int32_t id = 0; id < words.size(); ++id) {
    require(words.id(words.word(id)) == id, place, ": the word ", quote(words.word(id)),
            " is twice in the dictionary, with the ids ", id, " and ", words.id(words.word(id)),
            ", and a tokenizer.json has one id for a word: train with a dictionary without "
            "repeated words");
    for (const std::string& special : {end, unknown})
      require(
          id < specials.size || words.word(id).find(special) == std::string::npos, place,
          ": the word ", quote(words.word(id)), " contains ", special,
          ", which other programs cut out of a word: train with a dictionary without this word");
    vocab[words.word(id)] = id;
  }
  const Json json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens",
       Json::array({special_token(end, specials.end), special_token(unknown, specials.unknown)})},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Split"},
        {"pattern", {{"Regex", "[ \\t\\r\\n]+"}}},
        {"behavior", "Removed"},
        {"invert", false}}},
      {"post_processor", begin_template(end, specials.end)},
      {"decoder", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", std::move(vocab)}, {"unk_token", unknown}}}};
  return json_text(json, 2) + '\n';
}

// Returns a token that the files of a model name. Error: it is none of the model's.
std::optional<int64_t> stored_token(const ModelFiles& files, const char* key, int64_t tokens) {
  const Json* const value = files.find(key);
  if (value == nullptr) return std::nullopt;
  const Json id =
      value->is_string() ? Json::parse(value->get<std::string>(), nullptr, false) : *value;
  require(id.is_number_integer() && id >= 0 && id < tokens, files.said_in(key), ": ",
          unexpected_value(key, *value, "the number of a token of the model"));
  return id.get<int64_t>();
}

}  // namespace

PlainTransformer plain_transformer(ModelFiles files) {
  const std::filesystem::path& directory = files.directory;
  const std::string place = directory.string();
  PlainTransformer out;
  double head_factor = 1;
  files.opening([&] {
    const DType dtype = files.embedding("lm").dtype();
    ParameterSet parameters({.dtype = dtype, .gradients = false});
    const auto network = make_language_network(parameters, files);
    const auto* const transformer = dynamic_cast<const TransformerLanguageModel*>(network.get());
    require(transformer != nullptr, place,
            ": the network is an LSTM, and the formats of other programs have Transformers: train "
            "one of GPT-2's or Llama's shape");
    parameters.load(files.weights);
    out.config = transformer->config();
    out.network = network_of(place, out.config.style);
    head_factor = factor_of(place, out.config.head, transformer->head().present_spec());
  });
  const std::vector<int64_t> excluded = excluded_words(place, files.weights.tensors);
  const bool trained_on =
      !excluded.empty() &&
      files.weights.tensors.at("head.bias").to_vector()[static_cast<size_t>(excluded.back())] ==
          kExclusionInTraining;
  for (auto& [name, tensor] : files.weights.tensors)
    if (name == kEmbedding || name == kHead || !name.starts_with("head."))
      out.tensors[name] = in_float32(std::exchange(tensor, Tensor()));
  const Tensor words = out.tensors.at(kEmbedding);
  const bool was_tied = !out.tensors.contains(kHead);
  const Tensor vectors = was_tied ? words : out.tensors.at(kHead);

  const LanguageWords text = language_words(directory, words.shape()[0]);
  require(text.vocabulary.size() == words.shape()[0], (directory / kDictionaryFile).string(),
          " has ", text.vocabulary.size(), " entries with </s> and <unk>, but the model has ",
          words.shape()[0], " words");
  TokenRows rows;
  if (text.tokenizer) {
    TokenizerFile file(place, *text.tokenizer);
    const int64_t tokens = words.shape()[0] - text.vocabulary.specials().size;
    std::optional<int64_t> begin;
    if (!excluded.empty()) begin = stored_token(files, kBeginToken, tokens);
    rows = rows_of_tokens(place, excluded, trained_on, begin, words, vectors, file);
    out.tokenizer = file.text(rows.begin);
  } else {
    require(excluded.empty(), place, ": a bias excludes words of the model, and the formats of ",
            "other programs exclude no word: train without an output bias");
    for (int64_t row = 0; row < words.shape()[0]; ++row) rows.input.push_back(row);
    rows.output = rows.input;
    rows.begin = rows.end = text.vocabulary.specials().end;
    out.tokenizer = word_tokenizer(place, text.vocabulary);
  }
  out.begin = rows.begin;
  out.end = rows.end;
  const double factor = out.config.embedding_factor();
  bool tied = was_tied && head_factor == 1 && factor == 1;
  for (size_t token = 0; token < rows.input.size(); ++token)
    tied = tied && same_rows(words, rows.input[token], rows.output[token]);
  out.tensors[kEmbedding] = multiplied(table_of(words, rows.input), factor);
  if (!tied) out.tensors[kHead] = multiplied(table_of(vectors, rows.output), head_factor);
  for (const auto& [name, tensor] : out.tensors)
    require(ops::all_finite(tensor), place, ": the tensor '", name,
            "' has a number beyond 3.4e38, where float32 ends");
  out.config.vocab = std::ssize(rows.input);
  out.config.embed_scale.reset();
  out.config.tie_embeddings = tied;
  files.say_assumed();
  return out;
}

}  // namespace nine
