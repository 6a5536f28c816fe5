// Raw text in, raw text out: mt_train --raw and mt_translate with its checkpoints.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/train_tokenizer.h"
#include "nn/models/transformer.h"
#include "nn/models/translation_text.h"
#include "nn/models/translator.h"
#include "tests/apps/mt_runs.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_mt_raw {
namespace {

namespace fs = std::filesystem;

const Strings kSource{"Guten Morgen, Welt!", "Wie geht's dir?", "Das kostet 5 €.",
                      "Er sagt: „Ja“.",      "zwei  Wörter",    "</s> ist Text, <unk> auch",
                      "你好，世界。 (Gruß)", "ein\tTab"};
const Strings kTarget{"Good morning, world!", "How's it going?", "That's €5.",
                      "He says: \"Yes\".",    "two  words",      "</s> is text, <unk> too",
                      "<s>Hello</s> 世界",    "a\ttab"};

std::string text_of_lines(const Strings& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A text of a few sentences that a small model learns by heart.
struct Prose {
  TemporaryDirectory dir;
  std::string source = dir.write("s", text_of_lines(kSource)),
              target = dir.write("t", text_of_lines(kTarget));
  // The flags of a model and its training.
  Strings flags(const std::string& run, const Strings& more,
                const std::string& size = "280") const {
    return joined({"--raw", "--src",       source,   "--tgt",          target,  "--valid-src",
                   source,  "--valid-tgt", target,   "--batch-tokens", "400",   "--layers",
                   "1",     "--hidden",    "64",     "--ffn",          "128",   "--heads",
                   "2",     "--warmup",    "20",     "--lr",           "0.005", "--vocab-size",
                   size,    "--run",       dir / run},
                  more);
  }
};

// The model that knows the text by heart.
const Prose& learned() {
  static const Prose text;
  static const Outcome run = train(text.flags(
      "run", {"--after", "600u", "--valid-every", "200u", "--dropout", "0", "--label-smoothing",
              "0", "--test-src", text.source, "--test-tgt", text.target}));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return text;
}

Outcome translate(const Strings& more, const std::string& input = text_of_lines(kSource)) {
  return run_program("mt_translate", joined({"--checkpoint", learned().dir / "run"}, more), input);
}

int64_t words_in(const std::string& line) {
  std::istringstream in(line);
  int64_t n = 0;
  for (std::string word; in >> word;) ++n;
  return n;
}

}  // namespace

TEST_CASE("mt_train --raw: prose in, the same bytes out") {
  const Prose& text = learned();
  const Outcome out = translate({});
  REQUIRE_MESSAGE(out.code == 0, out.err);
  CHECK(out.out == text_of_lines(kTarget));
  const std::vector<Json> log = log_of(text.dir / "run");
  CHECK(log.back()["best_bleu"].get<double>() == doctest::Approx(100));
  CHECK(log.back()["test_bleu"].get<double>() == doctest::Approx(100));
  bool seen = false;
  for (const Json& event : log) {
    if (event["event"] != "translation") continue;
    const auto line = event["line"].get<size_t>() - 1;
    CHECK(event["src"] == kSource[line]);
    CHECK(event["ref"] == kTarget[line]);
    CHECK(event["attention"].size() == event["hyp_tokens"].size());
    seen = true;
  }
  CHECK(seen);
  const std::string best = text.dir / "run/checkpoints/best/";
  CHECK(fs::exists(best + "tokenizer.json"));
  CHECK_FALSE(fs::exists(best + "src.tokenizer.json"));
  CHECK(slurp(best + "src.dict.txt") == slurp(best + "tgt.dict.txt"));
  const Translator model = Translator::load(text.dir / "run");
  CHECK(model.reads_prose());
  CHECK(model.translate(kSource) == kTarget);
  CHECK(model.source().size() == 280);
}

TEST_CASE("mt_translate: every output of a model of raw text") {
  const Prose& text = learned();
  const TemporaryDirectory dir;
  const Outcome out = translate({"--word-scores", dir / "scores", "--token-pairs", dir / "pairs",
                                 "--alignment", dir / "alignment", "--attention", dir / "attention",
                                 "--score", "--reference", text.target, "--output", dir / "out"});
  REQUIRE_MESSAGE(out.code == 0, out.err);
  CHECK(has(out.out, "tok:13a|smooth:exp|version:2.6.0 = 100.0"));
  CHECK(slurp(dir / "out") == text_of_lines(kTarget));
  const Strings scores = lines_of(slurp(dir / "scores")), pairs = lines_of(slurp(dir / "pairs")),
                alignment = lines_of(slurp(dir / "alignment")),
                attention = lines_of(slurp(dir / "attention"));
  REQUIRE(pairs.size() == kSource.size());
  const auto tokenizer = read_tokenizer(text.dir / "run/checkpoints/best/tokenizer.json");
  for (size_t i = 0; i < pairs.size(); ++i) {
    const size_t bar = pairs[i].find(" ||| ");
    REQUIRE(bar != std::string::npos);
    const std::string from = pairs[i].substr(0, bar), to = pairs[i].substr(bar + 5);
    CHECK(words_in(to) + 1 == words_in(scores[i]));  // and </s>
    CHECK(words_in(to) == words_in(alignment[i]));
    const Json seen = Json::parse(attention[i]);
    CHECK(static_cast<int64_t>(seen["source"].size()) == words_in(from) + 1);
    CHECK(static_cast<int64_t>(seen["attention"].size()) == words_in(to));
    // The tokens are the line's.
    std::string spelled;
    for (const int32_t id : tokenizer->encode(kSource[i]))
      spelled += (spelled.empty() ? "" : " ") + std::string(tokenizer->token(id));
    CHECK(from == spelled);
  }
  const Outcome list = translate({"--n-best", "2", "--beam", "2"});
  CHECK(lines_of(list.out).size() == 2 * kSource.size());
  CHECK(has(list.out, "0 ||| Good morning, world! ||| "));
  const Outcome given = translate({"--score-given", text.target, "--tokens"}),
                sums = translate({"--score-given", text.target});
  const std::vector<std::vector<double>> library =
      Translator::load(text.dir / "run").score(kSource, kTarget);
  const Strings each = lines_of(given.out), whole = lines_of(sums.out);
  REQUIRE(each.size() == kTarget.size());
  for (size_t i = 0; i < each.size(); ++i) {
    std::istringstream in(each[i]);
    double sum = 0;
    for (const double log_p : library[i]) {
      double printed = 1;
      in >> printed;
      CHECK(printed == log_p);
      sum += printed;
    }
    CHECK(std::stod(whole[i]) == doctest::Approx(sum));
    CHECK(sum > -1);  // known by heart
  }
  CHECK(translate({"--flush"}).out == text_of_lines(kTarget));
  CHECK(translate({"--samples", "1", "--temperature", "0"}).out == text_of_lines(kTarget));
  CHECK(lines_of(translate({"--samples", "3", "--seed", "2"}).out).size() == 3 * kSource.size());
}

TEST_CASE("mt_translate: prefixes, empty lines and long lines of raw text") {
  const TemporaryDirectory dir;
  const std::string input = "Guten Morgen, Welt!\n\n   \nDas kostet 5 €.\n";
  CHECK(translate({}, input).out == "Good morning, world!\n\n\nThat's €5.\n");
  const std::string begins = dir.write("begins", "Good morn\n\n\nHe's </s>\n");
  const Strings found = lines_of(translate({"--prefix", begins}, input).out);
  REQUIRE(found.size() == 4);
  CHECK(found[0].starts_with("Good morn"));
  CHECK(found[3].starts_with("He's </s>"));
  std::string too_long;
  for (int i = 0; i < 1100; ++i) too_long += " x" + std::to_string(i);
  const Outcome refused = translate({}, too_long + "\n"),
                skipped = translate({"--skip-long"}, too_long + "\nDas kostet 5 €.\n");
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "line 1 has"));
  CHECK(skipped.out == "\nThat's €5.\n");
  CHECK(has(translate({}, "Gu@@ ten\n").err, "end with @@"));
  CHECK(has(translate({}, "a\xff\n").err, "UTF-8"));
}

TEST_CASE("a translation of bytes is a line of valid UTF-8") {
  TokenizerTrainer trainer({.vocabulary_size = 256, .special_tokens = {}});
  trainer.add("é");
  ModelTokenizer tokenizer(trainer.train(), Specials::kTranslation);
  const Vocabulary words = tokenizer.dictionary();
  const TranslationSide side{words, std::move(tokenizer)};
  TokenCache cache;
  std::vector<int32_t> ids;
  side.encode("é\n\rx", cache, ids);
  REQUIRE(ids.size() == 5);
  CHECK(side.text(ids, false) == "é  x");
  CHECK(side.text(std::span(ids).subspan(1), false) == "\uFFFD  x");
  CHECK(side.text(std::vector<int32_t>{Specials::kTranslation.unknown}, false).empty());
}

TEST_CASE("mt_train --raw: a run resumes to the same bits with the same tokenizers") {
  const Prose text;
  const Outcome made = run_program("bpe", {"learn", "--bytes", "--vocab-size", "280", "--input",
                                           text.source, "--output", text.dir / "given.json"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  struct Variant {
    Strings options;
    const char* size;
    Strings files;
  };
  const std::vector<Variant> variants{
      {{}, "280", {"tokenizer.json"}},
      {{"--no-shared-vocab"}, "263", {"src.tokenizer.json", "tgt.tokenizer.json"}},
      {{"--src-tokenizer", text.dir / "given.json"},
       "263",
       {"src.tokenizer.json", "tgt.tokenizer.json"}}};
  for (size_t n = 0; n < variants.size(); ++n) {
    CAPTURE(n);
    const auto with = [&](const std::string& run, const char* after) {
      return text.flags(run + std::to_string(n), joined({"--after", after}, variants[n].options),
                        variants[n].size);
    };
    const Outcome whole = train(with("whole", "9u"));
    REQUIRE_MESSAGE(whole.code == 0, whole.err);
    REQUIRE(train(with("parts", "4u")).code == 0);
    REQUIRE(train(with("parts", "9u")).code == 0);
    const std::string a = text.dir / ("whole" + std::to_string(n)),
                      b = text.dir / ("parts" + std::to_string(n));
    CHECK(weights_of(a) == weights_of(b));
    const auto validations = [](const std::string& run) {
      std::vector<double> nll;
      for (const Json& event : log_of(run))
        if (event["event"] == "valid") nll.push_back(event["nll"].get<double>());
      return nll;
    };
    CHECK(validations(a) == validations(b));
    for (const std::string& file : variants[n].files)
      CHECK(slurp(a + "/checkpoints/latest/" + file) == slurp(b + "/checkpoints/latest/" + file));
    const Translator model = Translator::load(a);
    CHECK(model.reads_prose());
    CHECK(model.network().config().shared_vocab == (n == 0));
  }
  // One space more is another text.
  text.dir.write("s", text_of_lines(kSource) + "x  y\n");
  text.dir.write("t", text_of_lines(kTarget) + "x y\n");
  REQUIRE(train(text.flags("spaces", {"--after", "2u"})).code == 0);
  text.dir.write("s", text_of_lines(kSource) + "x y\n");
  const Outcome other = train(text.flags("spaces", {"--after", "4u"}));
  CHECK(other.code == 2);
  CHECK(has(other.err, "--src"));
}

TEST_CASE("mt_train --raw: wrong command lines and texts") {
  const Prose text;
  const auto says = [&](const Strings& more, const std::string& size = "280") {
    const Outcome r = train(text.flags("bad", joined({"--after", "1u"}, more), size));
    CHECK(r.code != 0);
    return r.err;
  };
  const Strings given{"--tokenizer", text.source};
  CHECK(has(says({"--src-dict", text.source}), "leave out --src-dict and --tgt-dict"));
  CHECK(has(says({}, "259"), "it is at least 260"));
  CHECK(has(says({"--min-count", "2"}), "--min-count"));
  CHECK(has(says({}, "3000"), "the training text gives a vocabulary of "));
  CHECK(has(says(joined(given, {"--src-tokenizer", text.source}), "0"),
            "--tokenizer is for both languages"));
  CHECK(has(says({"--shared-vocab", "--src-tokenizer", text.source}), "give it as --tokenizer"));
  CHECK(has(says(given), "--tokenizer is used as it is"));
  CHECK(has(says(given, "0"), text.source));
  Strings words = text.flags("bad", given, "0");
  words.erase(words.begin());
  CHECK(has(train(words).err, "--tokenizer is for --raw"));
  CHECK(has(says({"--src-tokenizer", text.source}, "262"), text.source));
  text.dir.write("s", text_of_lines(kSource) + "more\n");
  CHECK(has(says({}), "has 9 lines, but"));
  text.dir.write("s", text_of_lines(kSource) + "\xC3\n");
  CHECK(has(says({}), "UTF-8"));
  text.dir.write("s", "");
  CHECK(has(says({}), text.source));
}

TEST_CASE("checkpoints of raw text: what does not fit is refused") {
  const Prose& text = learned();
  const TemporaryDirectory dir;
  const std::string open = dir / "open", best = text.dir / "run/checkpoints/best/";
  fs::create_directory(open);
  for (const char* name :
       {"model.safetensors", "config.json", "src.dict.txt", "tgt.dict.txt", "tokenizer.json"})
    fs::copy_file(best + name, open + "/" + name);
  CHECK(Translator::load(open).translate(kSource) == kTarget);  // without state.json
  const auto says = [&](const SegmentationOptions& how = {}) {
    return error_of([&] { Translator::load(open, how); });
  };
  const auto learn = [&](const std::string& file, const char* size) {
    const Outcome r =
        run_program("bpe", {"learn", "--bytes", "--special-tokens", "<s>", "--vocab-size", size,
                            "--input", text.target, "--output", file});
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  SUBCASE("the tokenizer is missing") {
    fs::remove(open + "/tokenizer.json");
    CHECK(has(says(), "tokenizer.json"));
  }
  SUBCASE("a tokenizer of other tokens") {
    learn(open + "/tokenizer.json", "290");
    CHECK(has(says(), "put the model's own files together"));
  }
  SUBCASE("a damaged tokenizer") {
    const std::string whole = slurp(open + "/tokenizer.json");
    std::ofstream(open + "/tokenizer.json") << whole.substr(0, whole.size() / 2);
    CHECK(has(says(), "tokenizer.json"));
  }
  SUBCASE("a tokenizer for one language only") {
    fs::rename(open + "/tokenizer.json", open + "/src.tokenizer.json");
    CHECK(has(says(), "for one language only"));
  }
  SUBCASE("options of words") {
    for (const SegmentationOptions& how :
         {SegmentationOptions{.codes = "codes"}, SegmentationOptions{.raw = true},
          SegmentationOptions{.join = true},
          SegmentationOptions{.detokenize = {.rules = Detokenizing::moses}}})
      CHECK(has(says(how), "reads and writes raw text with its own tokenizer"));
  }
  SUBCASE("an ensemble needs the same tokenizers") {
    REQUIRE(train(text.flags("other", {"--after", "1u"}, "270")).code == 0);
    const Strings both{open, text.dir / "other"}, same{open, text.dir / "run"};
    CHECK(has(error_of([&] { Translator::load(both); }), "different dictionaries"));
    CHECK(Translator::load(same).translate(kSource) == kTarget);
    Json file = Json::parse(slurp(open + "/tokenizer.json"));
    file["normalizer"] = {{"type", "NFC"}};
    std::ofstream(open + "/tokenizer.json") << file.dump();
    CHECK(has(error_of([&] { Translator::load(same); }), "different tokenizers"));
  }
}

TEST_CASE("mt_train --average: the mean of models of raw text has their tokenizer") {
  const Prose text;
  REQUIRE(train(text.flags("mean", {"--after", "4u", "--save-every", "1u", "--keep", "3"})).code ==
          0);
  const Outcome r = train({"--run", text.dir / "mean", "--average", "2"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(Translator::load(text.dir / "mean/average").reads_prose());
}

}  // namespace nine::tests::test_mt_raw
