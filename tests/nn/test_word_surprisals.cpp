// The surprisal of words over subwords, against sums over all token sequences of a tiny vocabulary.
#include "nn/models/word_surprisals.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include "autograd/functions.h"
#include "core/ops.h"
#include "data/tokenizers/raw_text.h"
#include "data/tokenizers/read_tokenizer.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/score_text.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_word_surprisals {
namespace {

using Ids = std::vector<int32_t>;

// A tokenizer.json of single characters and merges of two of them; Ġ is a space, Ċ a line end.
std::string tiny_json(const std::string& merges, const std::string& normalizer = "null") {
  std::string vocabulary = R"("a": 0, "b": 1, ".": 2, "Ċ": 3, "Ġ": 4)";
  std::string pairs;
  int id = 5;
  for (const std::string& merge : split(merges, ',')) {
    const Strings parts = split(merge, ' ');
    vocabulary += ", \"" + parts[0] + parts[1] + "\": " + std::to_string(id++);
    pairs += (pairs.empty() ? "" : ", ") + ("[\"" + parts[0] + "\", \"" + parts[1] + "\"]");
  }
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": )" +
         normalizer + R"(, "pre_tokenizer": {"type": "ByteLevel",
    "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
    "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
    "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
    "byte_fallback": false, "ignore_merges": false, "vocab": {)" +
         vocabulary + "}, \"merges\": [" + pairs + "]}}";
}

// A directory with a model of raw text whose weights are random.
struct Tiny {
  TemporaryDirectory dir;
  explicit Tiny(const std::string& json) {
    dir.write("tokenizer.json", json);
    const ModelTokenizer tokenizer =
        ModelTokenizer::of_file(dir / "tokenizer.json", Specials::kLanguageModel);
    const Vocabulary dictionary = tokenizer.dictionary();
    dictionary.write(dir / "dict.txt");
    ParameterSet parameters({.dtype = DType::float64, .seed = 3});
    const LstmLanguageModel network(
        parameters, {.vocab = dictionary.size(), .embed = 6, .hidden = 6, .layers = 1});
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal(0, 1.2);
    const std::vector<NamedView> views = parameters.named(parameters.values());
    for (const NamedView& v : views)
      for (int64_t i = 0; i < v.view.elements(); ++i)
        static_cast<double*>(v.view.data)[i] = normal(random);
    write_safetensors(dir / "model.safetensors", views, network.metadata());
  }
  LanguageModel model() const { return LanguageModel::load(dir.path().string()); }
};

// Sums of the probabilities of token sequences, token by token, without the code under test.
class Oracle {
 public:
  explicit Oracle(const LanguageModel& model) : model_(model) {}

  // p(the text begins with `x`, and white space or its end follows): over all sequences whose
  // tokens before the one that reaches behind `x` are what the tokenizer makes of their text.
  double word_end(const std::string& x) const { return sum(x, {}, "", 1); }
  std::vector<WordSurprisal> words(const std::string& line) const {
    std::vector<WordSurprisal> words;
    double before = 1;
    for_each_raw_word(line, [&](size_t begin, size_t end) {
      const double now = word_end(line.substr(0, end));
      words.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end),
                       std::log2(before) - std::log2(now)});
      before = now;
    });
    return words;
  }

 private:
  // The distribution of the token behind a prefix.
  std::vector<double> next(Ids prefix) const {
    const auto rows = std::ssize(prefix) + 1;
    prefix.push_back(0);
    const Corpus text = Corpus::of_ids(prefix, {0, rows}, {}, {}, 0);
    Arena arena("oracle");
    Tape tape(arena);
    std::vector<double> p;
    encode_sentences(model_.network(), tape, text, 100, [&](const EncodedSentences& batch) {
      p = model_.network().log_probabilities(row_range(batch.hidden, rows - 1, 1)).to_vector();
    });
    for (double& x : p) x = std::exp(x);
    CHECK(std::accumulate(p.begin(), p.end(), 0.0) == doctest::Approx(1));
    return p;
  }
  double sum(const std::string& x, const Ids& prefix, const std::string& text, double p) const {
    if (model_.tokenizer()->encode(text) != prefix) return 0;  // not the tokenizer's
    double all = 0;
    const std::vector<double> following = next(prefix);
    for (int32_t id = 0; id < std::ssize(following); ++id) {
      const double joint = p * following[static_cast<size_t>(id)];
      if (id == 1) continue;  // <unk>, which is no text
      if (id == 0) {          // </s>
        all += text == x ? joint : 0;
        continue;
      }
      const std::string longer = text + model_.tokenizer()->bytes(id);
      if (longer.size() > x.size()) {
        const char behind = longer[x.size()];
        all += longer.starts_with(x) && (behind == ' ' || behind == '\n') ? joint : 0;
      } else if (x.starts_with(longer)) {
        Ids more = prefix;
        more.push_back(id);
        all += sum(x, more, longer, joint);
      }
    }
    return all;
  }

  const LanguageModel& model_;
};

}  // namespace

TEST_CASE("word_surprisals: sums over all token sequences, with tokens that end a word inside") {
  // Without merges each text has one token sequence; "Ġ a" puts a space into its word's first
  // token; ". Ċ" has a word's end and white space; the last one has merges across words.
  for (const char* merges : {"", "Ġ a,a b", "Ġ a,. Ċ,b b", ". Ċ,a .,Ġ b", "a Ġ,. Ċ"}) {
    CAPTURE(merges);
    const Tiny tiny(tiny_json(merges));
    const LanguageModel model = tiny.model();
    REQUIRE(model.tokenizer() != nullptr);
    const Strings lines{"a ab.\n", "ab a.", "a", " b.\n", "\n", "", "ab..\n", "a  b \n", "bb b.\n"};
    const auto found = word_surprisals(model, lines);
    REQUIRE(found.size() == lines.size());
    for (size_t l = 0; l < lines.size(); ++l) {
      CAPTURE(lines[l]);
      const std::vector<WordSurprisal> wanted = Oracle(model).words(lines[l]);
      REQUIRE(found[l].size() == wanted.size());
      for (size_t w = 0; w < wanted.size(); ++w) {
        CAPTURE(w);
        CHECK(found[l][w].begin == wanted[w].begin);
        CHECK(found[l][w].end == wanted[w].end);
        CHECK(found[l][w].bits == doctest::Approx(wanted[w].bits).epsilon(1e-9));
        CHECK(found[l][w].bits >= 0);
      }
    }
    // A line's words do not depend on other lines and the batch.
    for (const int64_t batch_tokens : {1, 3, 1000}) {
      const auto again = word_surprisals(model, std::span(lines).first(1), batch_tokens);
      REQUIRE(again[0].size() == found[0].size());
      for (size_t w = 0; w < again[0].size(); ++w)
        CHECK(again[0][w].bits == doctest::Approx(found[0][w].bits).epsilon(1e-9));
    }
  }
}

TEST_CASE("word_surprisals: a word of one token is not its token's log-probability") {
  const Tiny tiny(tiny_json("Ġ a"));
  const LanguageModel model = tiny.model();
  const auto words = word_surprisals(model, Strings{"b a b"});
  const std::vector<double> log_p = model.score({"b a b"})[0];
  REQUIRE(log_p.size() == 4);  // b, Ġa, Ġ, b
  CHECK(std::abs(words[0][1].bits + log_p[1] / std::log(2)) > 1e-3);
}

TEST_CASE("word_surprisals: models of words and texts that are normalised are errors") {
  const LanguageModel words = LanguageModel::load(model_a());
  CHECK(has(error_of([&] { word_surprisals(words, Strings{"the cat"}); }), "reads raw text"));
  const Tiny tiny(
      tiny_json("", R"({"type": "Replace", "pattern": {"String": "b"}, "content": "a"})"));
  const LanguageModel model = tiny.model();
  CHECK(word_surprisals(model, Strings{"aa a"})[0].size() == 2);
  CHECK(has(error_of([&] { word_surprisals(model, Strings{"ab a"}); }), "does not normalise"));
  // The message has the cause: white space that is lost, an unknown token, tokens of whole words.
  const Tiny strips(tiny_json("", R"({"type": "Strip", "strip_left": true, "strip_right": true})"));
  const std::string lost = error_of([&] {
    word_surprisals(strips.model(), Strings{"a b", " a b"});
  });
  CHECK_MESSAGE(has(lost, "reads ' a b' as 'a b'"), lost);
  CHECK_MESSAGE(has(lost, "needs a tokenizer that keeps white space"), lost);
  const auto words_of = [](const char* decoder, const char* pre_tokenizer) {
    return Tiny(concat(R"({"version": "1.0", "truncation": null, "padding": null,
      "added_tokens": [], "normalizer": null, "pre_tokenizer": )",
                       pre_tokenizer, R"(, "post_processor": null, "decoder": )", decoder,
                       R"(, "model": {"type": "WordLevel", "unk_token": "[UNK]",
      "vocab": {"[UNK]": 0, "\u2581a": 1, "b": 2, "\u2581b": 3}}})"));
  };
  const char* const kMeta =
      R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true})";
  const Tiny kept = words_of(kMeta, kMeta);
  CHECK(word_surprisals(kept.model(), Strings{"a b"})[0].size() == 2);
  const std::string unknown = error_of([&] { word_surprisals(kept.model(), Strings{"a c c"}); });
  CHECK_MESSAGE(has(unknown,
                    "has no token for a part of 'a c c', where it has its unknown token 2 "
                    "times"),
                unknown);
  // Without a decoder there is a space between tokens, and only other white space is lost.
  const char* const kWords = R"({"type": "WhitespaceSplit"})";
  const Tiny whole = words_of("null", kWords);
  CHECK(word_surprisals(whole.model(), Strings{"b b"})[0].size() == 2);
  const std::string ended = error_of([&] { word_surprisals(whole.model(), Strings{"b b\n"}); });
  CHECK_MESSAGE(has(ended, "keeps white space; one of whole words (WordLevel) does not"), ended);
  const Tiny fused = words_of(R"({"type": "Fuse"})", kWords);
  const std::string level = error_of([&] { word_surprisals(fused.model(), Strings{"b"}); });
  CHECK_MESSAGE(has(level, "no token with white space, as one of whole words (WordLevel)"), level);
}

TEST_CASE("LanguageModel of raw text: scores, texts and what is generated") {
  const Tiny tiny(tiny_json("Ġ a,. Ċ"));
  const LanguageModel model = tiny.model();
  // Tokens of each text, without </s>; an empty text is </s> alone.
  const auto log_p = model.score({"b a.\n", "", "b a.\nb"});
  CHECK(log_p[0].size() == 3);
  CHECK(log_p[1].size() == 1);
  REQUIRE(log_p[2].size() == 4);
  for (size_t t = 0; t < 3; ++t) CHECK(log_p[2][t] == doctest::Approx(log_p[0][t]));
  const std::vector<std::string> prompts{"a b.", ""};
  GenerateOptions how{.max_words = 6, .samples = 3};
  const std::vector<std::string> texts = model.generate(prompts, how);
  REQUIRE(texts.size() == 6);
  for (size_t i = 0; i < 3; ++i) CHECK(texts[i].starts_with("a b."));
  const auto top = model.top_words({"a b."}, 9);
  REQUIRE(top[0].size() == 4);  // a, Ġ, b, .
  CHECK(top[0][1].top.size() == 9);
}

TEST_CASE("LanguageModel of raw text: a tokenizer of another size is an error") {
  const Tiny tiny(tiny_json("Ġ a")), other(tiny_json("Ġ a,. Ċ"));
  std::filesystem::copy_file(other.dir / "tokenizer.json", tiny.dir / "tokenizer.json",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(has(error_of([&] { tiny.model(); }), "has 7 tokens, and the model's dictionary has 6"));
  // With its dictionary too the weights do not fit.
  std::filesystem::copy_file(other.dir / "dict.txt", tiny.dir / "dict.txt",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(has(error_of([&] { tiny.model(); }), "but the model has 8 words"));
}

}  // namespace nine::tests::test_word_surprisals
