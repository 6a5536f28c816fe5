#include "nn/models/marian.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/quote.h"
#include "data/npz.h"
#include "data/text.h"
#include "data/trim.h"
#include "data/word_list.h"
#include "nn/models/foreign_tensors.h"
#include "nn/models/weight_type.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSettings = "special:model.yml";

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// special:model.yml: Marian's options, one a line, `key: value`; the values of a list follow their
// key, `- value` a line, or stand in brackets.
class MarianSettings {
 public:
  MarianSettings(std::string place, std::string_view text) : place_(std::move(place)) {
    text = text.substr(0, text.find('\0'));
    std::vector<std::string>* last = nullptr;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end), content = trimmed(line);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (content.empty() || content.front() == '#') continue;
      if (content.front() == '-' && (content.size() == 1 || content[1] == ' ')) {
        if (last != nullptr) last->emplace_back(without_quotes(trimmed(content.substr(1))));
      } else if (content.front() == '[') {
        if (last != nullptr) add_list(content, *last);
      } else if (line.front() != ' ') {
        const size_t colon = content.find(':');
        require(colon != std::string_view::npos, place_, ": the line ", quote(content),
                " is not `key: value`");
        last = &values_[std::string(content.substr(0, colon))];
        const std::string_view value = trimmed(content.substr(colon + 1));
        if (value.starts_with('['))
          add_list(value, *last);
        else if (!value.empty())
          last->emplace_back(without_quotes(value));
      }
    }
  }

  const std::string& place() const { return place_; }
  // Returns the values of a list; none if the key is missing.
  std::vector<std::string> list(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::vector<std::string>() : found->second;
  }
  std::string text(const std::string& key, const char* usual) const {
    const std::vector<std::string> all = list(key);
    return all.size() == 1 ? all[0] : usual;
  }
  bool yes(const std::string& key) const { return text(key, "false") == "true"; }
  int64_t whole(const std::string& key) const {
    const std::string text = this->text(key, "");
    int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    require(error == std::errc{} && end == text.data() + text.size() && out > 0 &&
                out < int64_t{1} << 31,
            place_, ": the key '", key, "' is ", quote(text),
            ", and a whole number from 1 on was expected");
    return out;
  }
  // Error: the key has a value that is not `only`.
  void only(const char* key, const char* only) const {
    require(text(key, only) == only, place_, ": the key '", key, "' is ", quote(text(key, "")),
            ", and Nine has ", only, " alone");
  }

 private:
  static void add_list(std::string_view text, std::vector<std::string>& out) {
    text.remove_prefix(1);
    text = text.substr(0, text.find(']'));
    while (!trimmed(text).empty()) {
      const size_t end = std::min(text.find(','), text.size());
      out.emplace_back(without_quotes(trimmed(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::string place_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Errors: settings that change the network to one that Nine does not have.
void require_known_marian(const MarianSettings& s) {
  for (const auto& [key, value] : {std::pair("type", "transformer"),
                                   {"transformer-decoder-autoreg", "self-attention"},
                                   {"transformer-no-projection", "false"},
                                   {"transformer-ffn-depth", "2"},
                                   {"transformer-no-bias", "false"},
                                   {"transformer-no-affine", "false"},
                                   {"transformer-pool", "false"},
                                   {"transformer-rnn-projection", "false"},
                                   {"right-left", "false"},
                                   {"ulr", "false"},
                                   {"lemma-dim-emb", "0"}})
    s.only(key, value);
  const std::vector<std::string> tied = s.list("transformer-tied-layers");
  for (size_t i = 0; i < tied.size(); ++i)
    require(tied[i] == std::to_string(i + 1), s.place(),
            ": the key 'transformer-tied-layers' ties ",
            "layers, and Nine has weights of their own for each");
}

// Returns the operations of a string such as "dan" without dropout.
std::string operations(const MarianSettings& s, const char* key, const char* usual) {
  std::string all = s.text(key, usual);
  std::erase(all, 'd');
  return all;
}

NormOrder norm_order(const MarianSettings& s) {
  const std::string pre = operations(s, "transformer-preprocess", ""),
                    post = operations(s, "transformer-postprocess", "dan");
  if (pre.empty() && post == "an") return NormOrder::post;
  require(
      pre == "n" && post == "a", s.place(), ": 'transformer-preprocess' is ",
      quote(s.text("transformer-preprocess", "")), " and 'transformer-postprocess' is ",
      quote(s.text("transformer-postprocess", "dan")),
      ", and Nine has the norm behind each sum (\"\" and \"dan\") or before each branch (\"n\" ",
      "and \"da\")");
  return NormOrder::pre;
}

// A language: its words, and the row of Marian's tables for each row of Nine's; -1: no row.
struct MarianWords {
  TranslationSide side;
  std::vector<int64_t> rows;
};

MarianWords marian_words(const std::string& file, int64_t rows) {
  constexpr const char* kWithoutCount =
      ": give the model's own vocabularies by --vocabs SOURCE TARGET";
  const Specials& specials = Specials::kTranslation;
  require(!file.ends_with(".fsv"), file,
          " is a factored vocabulary, and Nine has one vector for a word");
  if (file.ends_with(".spm")) {
    const ModelTokenizer tokenizer = ModelTokenizer::of_file(file, specials);
    const int64_t pieces = tokenizer.tokenizer().size();
    const int32_t end = tokenizer.tokenizer().find("</s>"),
                  unknown = tokenizer.tokenizer().unknown();
    require(pieces == rows, file, " has ", pieces, " pieces, and the model has ", rows, " words",
            kWithoutCount);
    require(end >= 0 && unknown >= 0, file, " has no piece </s> or no piece of unknown text");
    MarianWords out{{tokenizer.dictionary(), tokenizer}, {-1, -1, end, -1}};
    for (int64_t piece = 0; piece < pieces; ++piece) out.rows.push_back(piece == end ? -1 : piece);
    return out;
  }
  std::vector<std::string> lines;
  TextReader reader(std::vector<std::string>{file});
  for (std::string_view line; reader.next_line(line);) lines.emplace_back(line);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  require(kind_of_list(lines) == WordListKind::yaml, file,
          " is not a vocabulary of Marian, which has a line `word: id` for each word");
  const std::vector<ListedWord> words = numbered_words(lines, WordListKind::yaml, file);
  require(words.size() >= 2 && words[0].word == "</s>" && words[1].word == "<unk>", file,
          ": the ids 0 and 1 of a vocabulary of Marian are </s> and <unk>, and here they are ",
          quote(words[0].word), " and ", quote(words.size() < 2 ? "" : words[1].word));
  require(std::ssize(words) == rows, file, " has ", words.size(), " words, and the model has ",
          rows, kWithoutCount);
  MarianWords out{{Vocabulary::read(file, specials)}, {-1, -1, 0, 1}};
  for (int64_t row = 2; row < rows; ++row) out.rows.push_back(row);
  require(out.side.dictionary.size() == std::ssize(out.rows), file,
          " lists marks such as <s> or <pad> as words, and Nine has its own");
  return out;
}

// Returns Nine's rows of a table; zeros where there is no row.
Tensor rows_of(const Tensor& table, const std::vector<int64_t>& rows) {
  const int64_t width = table.shape()[1];
  Tensor out({std::ssize(rows), width}, DType::float32);
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i] >= 0)
      std::copy_n(table.data<float>() + rows[i] * width, width,
                  out.data<float>() + static_cast<int64_t>(i) * width);
  return out;
}

void multiply(const Tensor& tensor, double factor) {
  float* const data = tensor.view().as<float>();
  std::transform(data, data + tensor.elements(), data,
                 [&](float x) { return static_cast<float>(static_cast<double>(x) * factor); });
}

// Takes the tensors of the network's layers.
class MarianLayers {
 public:
  MarianLayers(const MarianSettings& settings, NormOrder norm, ForeignTensors& in,
               std::map<std::string, Tensor>& out)
      : place_(settings.place()),
        suffix_(norm == NormOrder::pre ? "_pre" : ""),
        gelu_(settings.text("transformer-ffn-activation", "swish") == "gelu"),
        in_(in),
        out_(out) {}

  void side(const std::string& side, int64_t layers, bool final_norm) {
    const bool decodes = side == "decoder";
    const std::string of = concat("transformer.", side);
    for (int64_t i = 0; i < layers; ++i) {
      const std::string from = concat(side, "_l", i + 1), to = concat(of, ".layers.", i, '.');
      attention(from + "_self", to + "self_attn");
      norm(from + "_self_Wo", to + "norm1");
      if (decodes) {
        attention(from + "_context", to + "multihead_attn");
        norm(from + "_context_Wo", to + "norm2");
      }
      feed_forward(from + "_ffn", to);
      norm(from + "_ffn_ffn", to + (decodes ? "norm3" : "norm2"));
    }
    if (final_norm) take_norm(side + "_top", "", of + ".norm");
  }

 private:
  void norm(const std::string& from, const std::string& to) { take_norm(from, suffix_, to); }
  void take_norm(const std::string& from, const std::string& suffix, const std::string& to) {
    out_[to + ".weight"] = in_.vector(concat(from, "_ln_scale", suffix));
    out_[to + ".bias"] = in_.vector(concat(from, "_ln_bias", suffix));
  }
  void map(const std::string& from, const char* number, const std::string& to) {
    out_[to + ".weight"] = transposed_matrix(in_.matrix(concat(from, "_W", number)));
    out_[to + ".bias"] = in_.vector(concat(from, "_b", number));
  }
  void attention(const std::string& from, const std::string& to) {
    std::vector<Tensor> weights, biases;
    for (const char* part : {"q", "k", "v"}) {
      weights.push_back(transposed_matrix(in_.matrix(concat(from, "_W", part))));
      biases.push_back(in_.vector(concat(from, "_b", part)));
    }
    const std::string what = concat(place_, ": the tensors ", from, "_Wq, _Wk, _Wv");
    out_[to + ".in_proj_weight"] = stacked(what, weights);
    out_[to + ".in_proj_bias"] = stacked(what, biases);
    map(from, "o", to + ".out_proj");
  }
  void feed_forward(const std::string& from, const std::string& to) {
    constexpr double kGelu = 1.702;
    map(from, "1", to + "linear1");
    map(from, "2", to + "linear2");
    if (!gelu_) return;
    multiply(out_[to + "linear1.weight"], kGelu);
    multiply(out_[to + "linear1.bias"], kGelu);
    multiply(out_[to + "linear2.weight"], 1 / kGelu);
  }

  const std::string& place_;
  std::string suffix_;
  bool gelu_;
  ForeignTensors& in_;
  std::map<std::string, Tensor>& out_;
};

Activation activation_of_marian(const MarianSettings& s) {
  const std::string name = s.text("transformer-ffn-activation", "swish");
  if (name == "relu") return Activation::relu;
  require(name == "swish" || name == "gelu", s.place(),
          ": the key 'transformer-ffn-activation' is ", quote(name),
          ", and Nine reads relu, swish and gelu");
  return Activation::silu;  // of gelu, too: MarianLayers
}

// Takes the tables of both languages and the head.
void take_words(const MarianSettings& s, const fs::path& file,
                const std::vector<std::string>& vocabularies, ForeignTensors& in,
                std::map<std::string, Tensor>& out, TranslationSides& sides) {
  const bool one = in.has("Wemb");
  const Tensor shared = one ? in.matrix("Wemb") : Tensor(),
               of_source = in.has("encoder_Wemb") || !one ? in.matrix("encoder_Wemb") : shared,
               of_target = in.has("decoder_Wemb") || !one ? in.matrix("decoder_Wemb") : shared;
  std::vector<std::string> files = vocabularies;
  if (files.empty())
    for (const std::string& name : s.list("vocabs"))
      files.push_back((file.parent_path() / fs::path(name).filename()).string());
  require(!files.empty(), s.place(), " names no vocabularies: give them by --vocabs SOURCE TARGET");
  require(files.size() <= 2, s.place(), ": the model has ", files.size(),
          " vocabularies, and a translation model of Nine has two");
  MarianWords source = marian_words(files.front(), of_source.shape()[0]),
              target = marian_words(files.back(), of_target.shape()[0]);
  require(source.side.tokenizer.has_value() == target.side.tokenizer.has_value(), s.place(),
          ": one vocabulary is a SentencePiece model and the other is not");
  constexpr const char *kOut = "decoder_ff_logit_out_W",
                       *kOutTransposed = "decoder_ff_logit_out_Wt",
                       *kOutBias = "decoder_ff_logit_out_b";
  const bool tied = s.yes("tied-embeddings") || s.yes("tied-embeddings-all");
  const Tensor head = in.has(kOutTransposed)  ? in.matrix(kOutTransposed)
                      : in.has(kOut) || !tied ? transposed_matrix(in.matrix(kOut))
                                              : of_target;
  require(head.shape() == of_target.shape(), s.place(), ": the output layer has the shape ",
          head.shape(), ", and the target's embeddings have ", of_target.shape());
  out["src_embedding.weight"] = rows_of(of_source, source.rows);
  out["head.weight"] = rows_of(head, target.rows);
  Tensor bias({std::ssize(target.rows)}, DType::float32);
  if (in.has(kOutBias)) {
    const Tensor own = in.vector(kOutBias);
    require(own.elements() == head.shape()[0], s.place(), ": the tensor '", kOutBias, "' has ",
            own.elements(), " numbers, and the output layer has ", head.shape()[0], " words");
    bias = rows_of(own.reshaped({own.elements(), 1}), target.rows).reshaped(bias.shape());
  }
  for (size_t i = 0; i < target.rows.size(); ++i)
    if (target.rows[i] < 0) bias.data<float>()[i] = -INFINITY;
  out["head.bias"] = bias;
  target.rows[static_cast<size_t>(Specials::kTranslation.end)] = -1;  // starts from zeros
  out["tgt_embedding.weight"] = rows_of(of_target, target.rows);
  sides = {std::move(source.side), std::move(target.side)};
}

}  // namespace

ForeignTranslation read_marian(const fs::path& file, const std::vector<std::string>& vocabularies) {
  Npz npz = read_npz(file);
  auto text = npz.texts.extract(kSettings);
  require(!text.empty(), file.string(), " has no ", kSettings,
          ", as a model of Marian has: is it another program's file?");
  const MarianSettings s(concat(kSettings, " of ", file.string()), text.mapped());
  require(npz.texts.empty(), file.string(), ": Nine does not read the array '",
          npz.texts.empty() ? "" : npz.texts.begin()->first, "'");
  require_known_marian(s);
  for (auto& [name, tensor] : npz.tensors) {
    tensor = in_float32(tensor);
    require_finite(name, tensor, file, "decoder_ff_logit_out_b");
  }
  const std::string place = file.string();
  ForeignTensors in(place, npz.tensors);
  // A vocabulary is always in the model's own language: nothing of the text is read here.
  ForeignTranslation out{
      .sides = {{Vocabulary(Specials::kTranslation)}, {Vocabulary(Specials::kTranslation)}}};
  out.files.directory = file;
  out.files.foreign = true;
  std::map<std::string, Tensor>& tensors = out.files.weights.tensors;
  const NormOrder norm = norm_order(s);
  const std::string of_embeddings = operations(s, "transformer-postprocess-emb", "d"),
                    top = operations(s, "transformer-postprocess-top", "");
  require(of_embeddings.empty(), s.place(), ": 'transformer-postprocess-emb' is ",
          quote(s.text("transformer-postprocess-emb", "")), ", and Nine has no norm of embeddings");
  require(top.empty() || top == "n", s.place(), ": 'transformer-postprocess-top' is ",
          quote(s.text("transformer-postprocess-top", "")), ", and Nine has \"\" or \"n\"");
  MarianLayers layers(s, norm, in, tensors);
  layers.side("encoder", s.whole("enc-depth"), top == "n");
  layers.side("decoder", s.whole("dec-depth"), top == "n");
  take_words(s, file, vocabularies, in, tensors, out.sides);
  const int64_t width = tensors["tgt_embedding.weight"].shape()[1];
  const bool trained = s.yes("transformer-train-positions");
  tensors[kPositionsName] = trained ? in.matrix("Wpos") : spread_sinusoids(kSinusoids, width, 0);
  in.require_empty();
  require(s.whole("dim-emb") == width, s.place(), ": the key 'dim-emb' is ", s.whole("dim-emb"),
          ", and the tensors have ", width);
  constexpr double kEps = 1e-6;
  out.files.sources.push_back(
      {s.place(),
       {{"task", "mt"},
        {"heads", s.whole("transformer-heads")},
        {"norm", to_text(norm)},
        {"activation", to_text(activation_of_marian(s))},
        {"layer_norm_eps", kEps},
        {"embed_scale", trained ? 1 : std::sqrt(static_cast<double>(width))},
        {"head", "lin"}}});
  return out;
}

}  // namespace nine
