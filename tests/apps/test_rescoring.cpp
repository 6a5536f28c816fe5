// N-best lists, weights, comparisons of word errors, and lm_rescore; sclite and sc_stats where they
// are installed (Debian's package sctk).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>

#include "core/number_format.h"
#include "core/random.h"
#include "data/measures/compare_errors.h"
#include "data/measures/rescoring.h"
#include "data/n_best.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "nn/models/sentence_scores.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace {

using namespace nine;
using namespace nine::tests;
using doctest::Approx;
namespace fs = std::filesystem;

std::vector<NBestList> read(const std::string& text, const NBestOptions& options = {}) {
  const TemporaryDirectory dir;
  return read_n_best(dir.write("list", text), options);
}

std::string refusal(const std::string& text, const NBestOptions& options = {}) {
  return error_of([&] { read(text, options); });
}

// Lists of the small models' words: the first pass prefers what it heard wrong.
struct MadeLists {
  std::string nbest, reference;
};
MadeLists made_lists(const std::string& name, const Strings& sentences, uint64_t seed) {
  RandomStream random({.seed = seed});
  const Strings wrong{"the", "a", "dog", "cat", "him", "saw", "zebra", "old"};
  MadeLists made;
  for (size_t i = 0; i < sentences.size(); ++i) {
    const std::string id = concat(i % 2 == 0 ? "x" : "y", "_", name, i);
    made.reference += id + "\t" + sentences[i] + "\n";
    Strings hypotheses{sentences[i]};
    for (int h = 0; h < 6; ++h) {
      std::string text;
      for (const std::string& word : split(sentences[i], ' ')) {
        const uint64_t what = random.below(8);
        if (what != 0) text += (what == 1 ? wrong[random.below(wrong.size())] : word) + " ";
        if (what == 2) text += wrong[random.below(wrong.size())] + " ";
      }
      hypotheses.push_back(text.empty() ? "a" : text);
    }
    const size_t place = random.below(hypotheses.size());
    std::swap(hypotheses[0], hypotheses[place]);
    for (size_t h = 0; h < hypotheses.size(); ++h)
      made.nbest +=
          concat(id, "\t", -1000.0 - 7.0 * static_cast<double>(h), "\t", hypotheses[h], "\n");
  }
  return made;
}

Strings sentences(size_t from, size_t count) {
  Strings all = split(longer_text(), '\n');
  std::erase(all, "");
  REQUIRE(all.size() >= from + count);
  return {all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from + count)};
}

// A folder with lists to tune on and lists to report, and a run on them.
struct Files {
  TemporaryDirectory dir;
  MadeLists tune = made_lists("t", sentences(0, 40), 1),
            test = made_lists("r", sentences(40, 60), 2);
  Files() {
    dir.write("tune.nbest", tune.nbest);
    dir.write("tune.ref", tune.reference);
    dir.write("test.nbest", test.nbest);
    dir.write("test.ref", test.reference);
  }
  Outcome run(const Strings& more) const {
    Strings arguments{"--nbest",        dir / "test.nbest", "--reference",
                      dir / "test.ref", "--output",         dir / "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program("lm_rescore", arguments);
  }
  Strings tuning() const {
    return {"--checkpoint",     model_a(),          "--tune-nbest",
            dir / "tune.nbest", "--tune-reference", dir / "tune.ref"};
  }
  Json results() const { return Json::parse(slurp(dir / "out/results.json")); }
};

// model_a with another bias of a word; its directory, which is `name` in `dir`.
std::string biased_model(const TemporaryDirectory& dir, const std::string& name,
                         const std::string& word, float bias) {
  const Vocabulary words =
      Vocabulary::read(model_a() + "/checkpoints/best/dict.txt", Specials::kLanguageModel);
  return changed_model(dir, name, model_a(), "head.bias", words.id(word), bias);
}

std::string output_of(const std::string& command) {
  const TemporaryDirectory dir;
  CHECK(std::system(("{ " + command + "; } > " + (dir / "out") + " 2>&1").c_str()) == 0);
  return slurp(dir / "out");
}

}  // namespace

TEST_CASE("read_n_best: the four formats") {
  const auto tsv = read("u1\t-12.5\tthe  cat \nu1\t-13\ta cat\nu2\t1e3\tdog\n");
  REQUIRE(tsv.size() == 2);
  CHECK(tsv[0].utterance == "u1");
  REQUIRE(tsv[0].hypotheses.size() == 2);
  CHECK(tsv[0].hypotheses[0].words == "the cat");
  CHECK(tsv[0].hypotheses[0].score == -12.5);
  CHECK(tsv[1].hypotheses[0].score == 1000);
  CHECK(read("u1\t12.5\tcat\n", {.cost = true})[0].hypotheses[0].score == -12.5);
  const auto srilm =
      read("u1 -10.5 -2 4 <s> the cat </s>\nu1 -11 -2 1 cat\n", {.format = NBestFormat::srilm});
  CHECK(srilm[0].hypotheses[0].score == -12.5);
  CHECK(srilm[0].hypotheses[0].words == "the cat");
  CHECK(srilm[0].hypotheses[1].words == "cat");
  const auto kaldi = read("a-b-1 7.5 the cat\na-b-2 8 cat\nc-1 3 x\n",
                          {.format = NBestFormat::kaldi, .cost = true});
  REQUIRE(kaldi.size() == 2);
  CHECK(kaldi[0].utterance == "a-b");
  CHECK(kaldi[0].hypotheses[1].score == -8);
  const auto moses = read("0 ||| ein hund ||| lm= -3 ||| -7.25\n0 ||| hund ||| -8\n1 ||| x ||| 0\n",
                          {.format = NBestFormat::moses});
  REQUIRE(moses.size() == 2);
  CHECK(moses[0].hypotheses[0].words == "ein hund");
  CHECK(moses[0].hypotheses[0].score == -7.25);
  const auto features = read(
      "0 ||| a b ||| d: 0 -0.5 lm: -inf w: -5 ||| -1\n0 ||| b |||  ||| -2\n"
      "0|||c|||lm=-3 tm_0=1|||-3\n0 ||| d e ||| 0-0 12-1 ||| F0= -4 ||| -4\n",
      {.format = NBestFormat::moses});
  REQUIRE(features[0].hypotheses.size() == 4);
  CHECK(features[0].hypotheses[0].words == "a b");
  CHECK(features[0].hypotheses[1].words == "b");
  CHECK(features[0].hypotheses[2].score == -3);
  CHECK(features[0].hypotheses[3].words == "d e");
}

TEST_CASE("read_n_best: Moses' segmentation and alignment behind the score, Marian's before it") {
  // As Moses' OutputNBest writes them; a hypothesis without links has an empty field.
  const auto lists = read(
      "0 ||| a b  ||| LM0= -9 D0= 0 ||| -8 ||| 0=0 1-2=1  ||| 0-0 1-1 2-1 \n"
      "0 ||| a ||| LM0= -9 ||| -8.5 ||| 0-0\n"
      "0 ||| b ||| LM0= -9 ||| -9 ||| \n"
      "0 ||| c ||| F0= -4 ||| 0-0 10-1 ||| -4.25\n"
      "0 ||| d ||| 3 -5 ||| -5 ||| 0-1=2-3\n",
      {.format = NBestFormat::moses});
  Strings words;
  std::vector<double> scores;
  for (const NBestHypothesis& h : lists.at(0).hypotheses) {
    words.push_back(h.words);
    scores.push_back(h.score);
  }
  CHECK(words == Strings{"a b", "a", "b", "c", "d"});
  CHECK(scores == std::vector<double>{-8, -8.5, -9, -4.25, -5});
  CHECK(has(refusal("0 ||| a ||| 0-0 ||| 1-1\n", {.format = NBestFormat::moses}),
            "'0-0' is not a score"));
  CHECK(has(refusal("0 ||| a ||| -8 ||| 0-0 b\n", {.format = NBestFormat::moses}),
            "'0-0 b' is not a score"));
}

TEST_CASE("read_n_best: SRILM's number of words is that of the words") {
  const auto words = [](const std::string& line) {
    return read("u1 -10.5 -2 " + line + "\n", {.format = NBestFormat::srilm})
        .at(0)
        .hypotheses.at(0)
        .words;
  };
  CHECK(words("2 the cat") == "the cat");
  CHECK(words("2 <s> the cat </s>") == "the cat");
  CHECK(words("4 <s> the cat </s>") == "the cat");
  CHECK(words("2 the -pau- cat") == "the -pau- cat");
  for (const char* line : {"the cat sat", "3 the cat", "1 the cat", "2.0 the cat", "-2 the cat",
                           "3 <s> the cat </s>", "2cats the cat"})
    CHECK(has(refusal(concat("u1 -10.5 -2 ", line, "\n"), {.format = NBestFormat::srilm}),
              "list, line 1: the number of words is "));
}

TEST_CASE("read_n_best: numbers with a plus or too small for a double; long words in messages") {
  const auto lists = read("u1\t+5\ta\nu1\t1e-400\tb\nu1\t-1e-400\tc\n");
  CHECK(lists[0].hypotheses[0].score == 5);
  CHECK(lists[0].hypotheses[1].score == 0);
  CHECK(has(refusal("u1\t1e400\ta\n"), "'1e400' is not a score"));
  CHECK(refusal("u1\t" + std::string(9000, 'x') + "\ta\n").size() < 300);
}

TEST_CASE("read_n_best: what is malformed") {
  CHECK(has(refusal("u1\t-1\tcat\nu1 -1 cat\n"), "line 2: a line is 'utterance TAB score"));
  CHECK(has(refusal("\t-1\tcat\n"), "no utterance"));
  CHECK(has(refusal("u1\tx\tcat\n"), "'x' is not a score"));
  CHECK(has(refusal("u1\tnan\tcat\n"), "'nan' is not a score"));
  CHECK(has(refusal("u1\t1\t\n"), "line 1: a hypothesis of 'u1' has no words; give --allow-empty"));
  CHECK(read("u1\t1\t\n", {.allow_empty = true})[0].hypotheses[0].words.empty());
  CHECK(has(refusal("u1\t1\ta\nu2\t1\ta\nu1\t1\tb\n"), "line 3: 'u1' is in line 1 already"));
  // Kaldi's keys: a hypothesis has one.
  const NBestOptions kaldi{.format = NBestFormat::kaldi};
  CHECK(has(refusal("u1-1 3 a\nu1-2 2 b\nu1-1 1 c\n", kaldi),
            "line 3: 'u1-1' is in line 1 already; a hypothesis has one line"));
  CHECK(has(refusal("u1-1 3 a\nu2-1 2 b\nu1-2 1 c\n", kaldi),
            "line 3: 'u1' is in line 1 already; the lines of an utterance must follow"));
  CHECK(read("u1-1 3 a\nu1-2 2 b\nu1-1-1 1 c\n", kaldi).size() == 2);
  CHECK(has(refusal("u (1)\t1\ta\n"), "a space or a parenthesis"));
  CHECK(has(refusal("u1-x 3 a\n", {.format = NBestFormat::kaldi}), "such as u17-1"));
  CHECK(has(refusal("u1 3 4\n", {.format = NBestFormat::srilm}), "has 3 fields"));
  CHECK(has(refusal("u1 ||| a\n", {.format = NBestFormat::moses}), "has 1 |||"));
  CHECK(has(refusal("u 1 ||| a ||| 2\n", {.format = NBestFormat::moses}), "not the name"));
  // What stands behind a ||| that is a word would be left out of the hypothesis.
  CHECK(has(refusal("0 ||| a ||| -1\n0 ||| a ||| b ||| -1\n", {.format = NBestFormat::moses}),
            "line 2: between words and score a line may have features such as 'lm= -3' and an "
            "alignment such as 0-0, but this has 'b'; write a word ||| as &#124;"));
  CHECK(has(refusal("0 ||| a ||| lm= -3 b ||| -1\n", {.format = NBestFormat::moses}),
            "this has 'lm= -3 b'"));
  CHECK(has(refusal("0 ||| a ||| b ||| lm= -3 ||| -1\n", {.format = NBestFormat::moses}),
            "line 1: between words and score a line may have features such as 'lm= -3' and an "
            "alignment such as 0-0, but this has 'b'"));
}

TEST_CASE("read_n_best: a log zero, as programs write it") {
  const auto score = [](const std::string& text, const NBestOptions& options = {}) {
    return read("u1\t" + text + "\ta\n", options)[0].hypotheses[0].score;
  };
  // SRILM and PyTorch, HTK, Kaldi, DBL_MAX.
  for (const char* zero : {"-inf", "-Infinity", "-1e10", "-1e30", "-1.7976931348623157e308"})
    CHECK(score(zero) == -INFINITY);
  for (const char* zero : {"inf", "1e10", "1e300"}) CHECK(score(zero, {.cost = true}) == -INFINITY);
  CHECK(score("-9999999999") == -9999999999);
  CHECK(score("9999999999") == 9999999999);
  const NBestOptions srilm{.format = NBestFormat::srilm}, kaldi{.format = NBestFormat::kaldi};
  CHECK(read("u1 -inf -3 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(read("u1 -10000000000 -3 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(read("u1 5000 -1e10 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(has(refusal("u1\t-1\ta\nu1\tinf\tb\n"),
            "line 2: the score inf is too large for the logarithm of a probability"));
  CHECK(has(refusal("u1\t+inf\ta\n"), "line 1: the score inf is too large for the logarithm"));
  CHECK(has(refusal("u1\t+-inf\ta\n"), "line 1: '+-inf' is not a score"));
  CHECK(has(refusal("u1-1 1e10 a\n", kaldi), "line 1: the score 1e+10 is too large"));
  CHECK(has(refusal("u1\t-inf\ta\n", {.cost = true}),
            "line 1: the cost -inf is too small for a cost"));
  CHECK(has(refusal("u1 -inf inf 1 a\n", srilm), "line 1: infinite scores of both signs"));
}

TEST_CASE("transcripts: by name, by number, sclite's, and what is wrong with them") {
  const TemporaryDirectory dir;
  const auto file = [&](const std::string& text) { return dir.write("t", text); };
  CHECK(read_transcripts(file("u1\tthe  cat\nu2\t\n")).at("u1") == "the cat");
  CHECK(read_transcripts(file("u1\tthe cat\nu2\t\n")).at("u2").empty());
  CHECK(read_transcripts(file("the cat\n\ndog\n"), NBestFormat::moses).at("2") == "dog");
  CHECK(read_trn(file("the cat (u1)\n(u2) \nwell (he) said (u3)\n")).at("u3") == "well (he) said");
  CHECK(has(error_of([&] { read_transcripts(file("u1\tspk1\tthe man\n")); }),
            "line 1: a line is 'utterance TAB words', but this has 2 tabs"));
  CHECK(has(error_of([&] { read_transcripts(file("0 ||| a\n"), NBestFormat::moses); }),
            "but this has |||, as a list has"));
  CHECK(has(error_of([&] { read_transcripts(file("0 the man\n1 ran\n"), NBestFormat::moses); }),
            "every line begins with a number and a space"));
  CHECK(read_transcripts(file("0 degrees\n2 men\n"), NBestFormat::moses).at("0") == "0 degrees");
  CHECK(has(error_of([&] { read_transcripts(file("u1\ta\nu1\tb\n")); }),
            "line 2: 'u1' is in line 1 already"));
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\nu2 b\nu1 c\n"), NBestFormat::kaldi); }),
            "line 3: 'u1' is in line 1 already; an utterance has one text"));
  CHECK(has(error_of([&] { read_trn(file("a (u1)\nb (u1)\n")); }), "line 2: 'u1' is in line 1"));
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\n")); }), "no tab"));
  // Kaldi's own `text`: a space or a tab behind the name, which may stand alone.
  const Transcripts kaldi =
      read_transcripts(file("u1 the  cat\nu2\nu3\ta dog\nu4 \n"), NBestFormat::kaldi);
  CHECK(kaldi == Transcripts{{"u1", "the cat"}, {"u2", ""}, {"u3", "a dog"}, {"u4", ""}});
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\n b\n"), NBestFormat::kaldi); }),
            "line 2: a line is 'utterance words', but this has no utterance"));
  CHECK(has(error_of([&] { read_trn(file("the cat\n")); }), "ends with '(utterance)'"));
  const auto lists = read("u1\t1\ta\nu2\t1\tb\n");
  CHECK(texts_of(lists, {{"u2", "y"}, {"u1", "x"}}, "r") == Strings{"x", "y"});
  CHECK(has(error_of([&] {
              texts_of(lists, {{"u1", "x"}}, "r");
            }),
            "r has no text for the utterance 'u2'"));
  CHECK(has(error_of([&] {
              texts_of(lists, {{"u1", "x"}, {"u2", "y"}, {"u3", "z"}}, "r");
            }),
            "'u3', which has no n-best list"));
}

TEST_CASE("choose_hypotheses and tune_weights: by hand, and whatever the base of the first pass") {
  // The right hypothesis of each list is the second; it is chosen where lambda > 2 and lambda > 3.
  const std::vector<ScoredList> lists{{{0, -10, 3}, {-2, -9, 3}}, {{0, -20, 4}, {-6, -18, 4}}};
  CHECK(choose_hypotheses(lists, {0, 0}) == std::vector<size_t>{0, 0});
  CHECK(choose_hypotheses(lists, {2.5, 0}) == std::vector<size_t>{1, 0});
  CHECK(choose_hypotheses(lists, {2, 0}) == std::vector<size_t>{0, 0});  // equal: the first
  const auto loss = [](std::span<const size_t> chosen) {
    double wrong = 0;
    for (const size_t c : chosen) wrong += c == 1 ? 0 : 1;
    return wrong;
  };
  const RescoringWeights tuned = tune_weights(lists, loss);
  CHECK(loss(choose_hypotheses(lists, tuned)) == 0);
  CHECK(tuned.lambda > 3);
  CHECK(tuned.lambda < 3.2);  // the smaller of the equally good
  CHECK(tuned.mu == 0);
  std::vector<ScoredList> scaled = lists;
  for (ScoredList& list : scaled)
    for (HypothesisScores& h : list) h.first_pass *= 4096;
  CHECK(tune_weights(scaled, loss).lambda == Approx(4096 * tuned.lambda));
  // Only the number of words tells the right one.
  const std::vector<ScoredList> words{{{0, -10, 3}, {-2, -10, 4}}, {{0, -20, 4}, {-1, -20, 5}}};
  const RescoringWeights by_words = tune_weights(words, loss);
  CHECK(loss(choose_hypotheses(words, by_words)) == 0);
  CHECK(by_words.lambda == 0);
  // The first pass says nothing: all lambdas above 0 are equally good, down to the grid's least.
  const std::vector<ScoredList> ties{{{0, -10, 3}, {0, -9, 3}}, {{0, -20, 4}, {0, -18, 4}}};
  const double unit = 1 / std::sqrt((0.25 + 0.25 + 1 + 1) / 4);  // 1 over the spread of log_p
  CHECK(tune_weights(ties, loss).lambda == Approx(unit / 32));
  // Nothing to gain.
  CHECK(tune_weights(lists, [](std::span<const size_t>) { return 1.0; }).lambda == 0);
  CHECK(has(error_of([&] { tune_weights({}, loss); }), "no list"));
}

TEST_CASE("choose_hypotheses: what is impossible, and weights that are too large") {
  const std::vector<ScoredList> lists{{{-INFINITY, -1, 3}, {-9, -20, 3}, {-10, -INFINITY, 2}},
                                      {{-INFINITY, -1, 3}, {-INFINITY, -2, 3}}};
  CHECK(choose_hypotheses(lists, {1, 0}) == std::vector<size_t>{1, 0});
  CHECK(choose_hypotheses(lists, {100, 0}) == std::vector<size_t>{1, 0});
  // A model without a weight excludes nothing: -10 + 2 * 2 would be less than -9 + 3 * 2.
  CHECK(choose_hypotheses(lists, {0, -2}) == std::vector<size_t>{2, 0});
  CHECK(has(error_of([&] {
              choose_hypotheses(lists, {1e308, 0});
            }),
            "lambda 1e+308 and mu 0 make a score of -inf from the first-pass score -9, log p -20"));
  CHECK(has(error_of([&] {
              choose_hypotheses({{{{0, NAN, 1}}}}, {1, 0});
            }),
            "make a score of nan"));
}

TEST_CASE("tune_weights: an outlier moves nothing, NaN is never better, the search has a bound") {
  // The first is right where lambda > 1, in the second list where lambda < 4.
  const std::vector<ScoredList> lists{{{0, -10, 3}, {-2, -8, 3}}, {{0, -20, 4}, {-40, -10, 4}}};
  const auto loss = [](std::span<const size_t> chosen) {
    return (chosen[0] == 1 ? 0.0 : 1.0) + (chosen[1] == 0 ? 0.0 : 1.0);
  };
  const RescoringWeights plain = tune_weights(lists, loss);
  CHECK(loss(choose_hypotheses(lists, plain)) == 0);
  for (const double outlier : std::vector<double>{-1e3, -1e6, -1e9, -1e200, -INFINITY})
    for (const bool in_the_list : {true, false}) {
      std::vector<ScoredList> with = lists;
      if (in_the_list)
        with[0].push_back({outlier, -9, 3});
      else
        with.push_back({{0, -10, 3}, {outlier, -10, 3}});
      const TunedWeights tuned = tune_weights(with, loss);
      CAPTURE(outlier);
      CHECK(loss(choose_hypotheses(with, tuned)) == 0);
      CHECK(!tuned.stopped);
    }
  CHECK(tune_weights(lists, [](std::span<const size_t>) { return NAN; }).lambda == 0);
  int calls = 0;
  const TunedWeights endless =
      tune_weights(lists, [&](std::span<const size_t>) { return -static_cast<double>(++calls); });
  CHECK(endless.stopped);
  CHECK(calls == kMostTries + 1);
  CHECK(std::isfinite(endless.lambda));
}

TEST_CASE("score_sentences_once: lm_score's sums, each sentence once, and mixtures of models") {
  const Strings text{"the cat saw a dog", "a dog", "the cat saw a dog", "a zebra heard him", ""};
  const auto sums = [&](const std::string& model) {
    std::vector<double> all;
    std::string lines;
    for (const std::string& line : text) lines += line + "\n";
    for (const std::string& line : split(lm_score({"--checkpoint", model}, lines), '\n'))
      all.push_back(std::stod(line));
    return all;
  };
  const std::vector<double> a = sums(model_a()), b = sums(model_b());
  const SentenceScores one = score_sentences_once({model_a()}, text, {.batch_tokens = 7});
  CHECK(one.distinct == 4);
  CHECK(one.tokens == 6 + 3 + 5 + 1);
  CHECK(one.unknown == std::vector<int64_t>{1});
  REQUIRE(one.log_p.size() == 5);
  for (size_t i = 0; i < 5; ++i) CHECK(one.log_p[i] == Approx(a[i]).epsilon(1e-5));
  const SentenceScores both =
      score_sentences_once({model_a(), model_b()}, text,
                           {.interpolation = Interpolation::log_linear, .weights = {0.5, 2}});
  for (size_t i = 0; i < 5; ++i)
    CHECK(both.log_p[i] == Approx(0.5 * a[i] + 2 * b[i]).epsilon(1e-5));
  // One token: the logarithm of the mean of two probabilities. More: between both models, and never
  // below the log-linear mean.
  const SentenceScores linear = score_sentences_once({model_a(), model_b()}, text, {});
  CHECK(linear.log_p[4] == Approx(std::log((std::exp(a[4]) + std::exp(b[4])) / 2)).epsilon(1e-5));
  for (size_t i = 0; i < 5; ++i) CHECK(linear.log_p[i] >= (a[i] + b[i]) / 2 - 1e-9);
  CHECK(score_sentences_once({model_a(), model_a()}, text, {}).log_p[0] ==
        Approx(a[0]).epsilon(1e-5));
  CHECK(has(error_of([&] {
              score_sentences_once({model_a()}, text, {.weights = {0.5, 0.5}});
            }),
            "2 weights for 1 model"));
  CHECK(has(error_of([&] {
              score_sentences_once({model_a(), model_b()}, text, {.weights = {0.5, 0.7}});
            }),
            "must add up to 1"));
}

// exp() of these is 0 in double.
TEST_CASE("score_sentences_once: linear, of words that no model finds likely") {
  const TemporaryDirectory dir;
  const std::string x = biased_model(dir, "x", "cat", -2000),
                    y = biased_model(dir, "y", "cat", -1000);
  const auto sum_of = [](const std::string& model) {
    return std::stod(lm_score({"--checkpoint", model}, "cat\n"));
  };
  const double at_x = sum_of(x), at_y = sum_of(y);
  CHECK(at_x < -1900);
  CHECK(std::fabs(at_x - at_y + 1000) < 1);
  const auto mixed = [](const Strings& models, const std::vector<double>& weights) {
    return score_sentences_once(models, Strings{"cat"}, {.weights = weights}).log_p.at(0);
  };
  CHECK(mixed({x, x}, {}) == Approx(at_x).epsilon(1e-6));
  // x adds nothing to y's share of "cat" and has y's probability of </s>.
  CHECK(mixed({x, y}, {}) == Approx(at_y + std::log(0.5)).epsilon(1e-6));
  CHECK(mixed({y, x}, {0.25, 0.75}) == Approx(at_y + std::log(0.25)).epsilon(1e-6));
  CHECK(mixed({x, y}, {1, 0}) == Approx(at_x).epsilon(1e-6));
  // Where the language model has no weight, what it finds impossible can be chosen or not.
  const Outcome r = run_program(
      "lm_rescore",
      {"--checkpoint", x, x, "--lambda", "0", "--nbest",
       dir.write("nbest", "u1\t-2\tcat\nu1\t-1\tdog\nu2\t-1\tcat\nu2\t-2\tdog\n"), "--reference",
       dir.write("reference", "u1\tdog\nu2\tcat\n"), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(slurp(dir / "out/hyp.trn") == "dog (u1)\ncat (u2)\n");
}

// Two systems on 400 utterances of ten words, of which a share has an error of one system alone.
TEST_CASE("compare_errors: the difference's standard error by the normal approximation") {
  RandomStream random({.seed = 12});
  std::vector<UtteranceErrors> utterances(400);
  std::vector<size_t> each(400), pairs(400);
  int64_t errors_a = 0, errors_b = 0;
  for (size_t i = 0; i < 400; ++i) {
    each[i] = i;
    pairs[i] = i / 2;
    for (int w = 0; w < 10; ++w) {
      const double u = random.uniform();
      utterances[i].a.push_back(u < 0.1 ? Edit::substitution : Edit::correct);
      utterances[i].b.push_back(u > 0.92 ? Edit::deletion : Edit::correct);
    }
    errors_a += count_errors(utterances[i].a).errors();
    errors_b += count_errors(utterances[i].b).errors();
  }
  const ErrorComparison c = compare_errors(utterances, each, {.resamples = 2000, .seed = 1});
  CHECK(c.a.errors() == errors_a);
  CHECK(c.difference == Approx(static_cast<double>(errors_b - errors_a) / 40));
  CHECK(c.difference_95.low < c.difference);
  CHECK(c.difference_90.low > c.difference_95.low);
  CHECK(c.difference_90.high < c.difference_95.high);
  // Words are independent here, so that both margins are about the same: 0.18 of the words differ.
  const double expected = 100 * std::sqrt(0.18 / 4000);
  CHECK(c.standard_error == Approx(expected).epsilon(0.1));
  CHECK(c.decidable == Approx(2.9264 * expected).epsilon(0.1));
  CHECK(c.equivalent(c.difference_90.high + std::fabs(c.difference_90.low) + 1));
  CHECK(!c.equivalent(std::fabs(c.difference) / 2));
  CHECK(c.groups == 400);
  const ErrorComparison by_pairs =
      compare_errors(utterances, pairs, {.resamples = 2000, .seed = 1});
  CHECK(by_pairs.groups == 200);
  CHECK(by_pairs.difference == c.difference);
  CHECK(by_pairs.standard_error == Approx(expected).epsilon(0.15));
  // A system against itself: no difference, nothing is undecided.
  std::vector<UtteranceErrors> same = utterances;
  for (UtteranceErrors& u : same) u.b = u.a;
  const ErrorComparison none = compare_errors(same, each, {});
  CHECK(none.difference_95.low == 0);
  CHECK(none.difference_95.high == 0);
  CHECK(none.mapsswe.p == 1);
  CHECK(none.equivalent(0.001));
  CHECK(has(error_of([&] { compare_errors(utterances, std::vector<size_t>(400, 0), {}); }),
            "one group"));
}

TEST_CASE("lm_rescore: fewer errors than the first pass, the files say so, nothing is random") {
  const Files f;
  const Outcome r = f.run(f.tuning());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "420 hypotheses"));
  CHECK(has(r.err, "unknown to"));  // zebra
  CHECK(r.out.find("can be shown") < r.out.find("first pass"));
  const Json j = f.results();
  CHECK(j["rescored"]["errors"].get<int>() < j["first_pass"]["errors"].get<int>());
  CHECK(j["rescored"]["errors"].get<int>() >= j["oracle"]["errors"].get<int>());
  CHECK(j["oracle"]["errors"] == 0);  // each list has its reference
  CHECK(j["lambda"].get<double>() > 0);
  CHECK(j["tokens"].get<int64_t>() > 0);
  CHECK(j["difference"]["units"] == 60);
  // The counts of hyp.trn against ref.trn, and of utterances.tsv.
  const auto hyp = read_trn(f.dir / "out/hyp.trn"), ref = read_trn(f.dir / "out/ref.trn");
  WordErrors sum;
  for (const auto& [name, words] : ref) {
    std::vector<std::string_view> x, y;
    split_words(words, x);
    split_words(hyp.at(name), y);
    sum += count_errors(align_words(x, y));
  }
  CHECK(sum.errors() == j["rescored"]["errors"]);
  CHECK(sum.words() == j["rescored"]["words"]);
  int64_t listed = 0;
  for (const std::string& line : split(slurp(f.dir / "out/utterances.tsv"), '\n')) {
    const Strings cells = split(line, '\t');
    REQUIRE(cells.size() == 8);
    if (cells[0] != "utterance")
      listed += std::stoi(cells[5]) + std::stoi(cells[6]) + std::stoi(cells[7]);
  }
  CHECK(listed == sum.errors());
  const std::string before = slurp(f.dir / "out/results.json");
  const Outcome again = f.run(joined(f.tuning(), {"--threads", "1", "--json"}));
  CHECK(slurp(f.dir / "out/results.json") == before);
  CHECK(again.out == before);
  // The weights that were found, given by hand, choose the same.
  const Outcome given = f.run(
      {"--checkpoint", model_a(), "--lambda", shortest(j["lambda"]), "--mu", shortest(j["mu"])});
  REQUIRE_MESSAGE(given.code == 0, given.err);
  CHECK(f.results()["rescored"] == j["rescored"]);
  // Without the language model the first pass comes back.
  REQUIRE(f.run({"--checkpoint", model_a(), "--lambda", "0"}).code == 0);
  CHECK(slurp(f.dir / "out/hyp.trn") == slurp(f.dir / "out/first.trn"));
  CHECK(f.results()["difference"]["points"] == 0);
}

TEST_CASE("lm_rescore --nbest-cost: lists with costs give what lists with scores give") {
  const Files f;
  REQUIRE(f.run(f.tuning()).code == 0);
  const Json scores = f.results();
  const std::string chosen = slurp(f.dir / "out/hyp.trn");
  for (const char* name : {"tune.nbest", "test.nbest"}) {
    std::string lists = slurp(f.dir / name);
    for (size_t at = 0; (at = lists.find("\t-", at)) != std::string::npos;) lists.erase(at + 1, 1);
    f.dir.write(name, lists);
  }
  REQUIRE(f.run(joined(f.tuning(), {"--nbest-cost"})).code == 0);
  CHECK(f.results()["rescored"] == scores["rescored"]);
  CHECK(f.results()["first_pass"] == scores["first_pass"]);
  CHECK(slurp(f.dir / "out/hyp.trn") == chosen);
  REQUIRE(f.run(f.tuning()).code == 0);
  CHECK(f.results()["rescored"] != scores["rescored"]);  // without it the worst are the best
}

TEST_CASE("lm_rescore: two models, a baseline, groups, equivalence") {
  const Files f;
  REQUIRE(f.run(joined(f.tuning(), {})).code == 0);
  fs::copy_file(f.dir / "out/hyp.trn", f.dir / "a.trn");
  const Json alone = f.results();
  const Outcome r = f.run(joined(
      f.tuning(), {"--checkpoint", model_b(), "--interpolate", "log-linear", "--weights", "1", "2",
                   "--baseline", f.dir / "a.trn", "--group-by", "before:_", "--margin-wer", "50"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = f.results();
  CHECK(j["compared"]["errors"] == alone["rescored"]["errors"]);
  CHECK(j["difference"]["units"] == 2);
  CHECK(j["models"].size() == 2);
  CHECK(j["tost"]["equivalent"] == true);
  CHECK(has(r.out, "TOST at 5%, margin 50 points"));
  CHECK(has(r.out, "2 groups (before:_)"));
  std::string groups;
  for (const auto& [name, words] : read_trn(f.dir / "a.trn"))
    groups += name + "\t" + (name.size() % 2 == 0 ? "even" : "odd") + "\n";
  const Outcome by_file = f.run(joined(f.tuning(), {"--group-by", f.dir.write("groups", groups)}));
  REQUIRE_MESSAGE(by_file.code == 0, by_file.err);
  CHECK(f.results()["difference"]["units"] == 2);
}

TEST_CASE("lm_rescore: a Transformer chooses what lm_score's sums say, and goes with an LSTM") {
  const Files f;
  const double lambda = 30;
  const Outcome r = f.run({"--checkpoint", transformer_model(), "--lambda", "30"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  std::string texts;
  std::vector<Strings> hypotheses;  // utterance, first-pass score, words
  for (const std::string& line : split(f.test.nbest, '\n')) {
    hypotheses.push_back(split(line, '\t'));
    texts += hypotheses.back()[2] + "\n";
  }
  const Strings sums = split(lm_score({"--checkpoint", transformer_model()}, texts), '\n');
  REQUIRE(sums.size() == hypotheses.size());
  const auto chosen = read_trn(f.dir / "out/hyp.trn");
  for (size_t i = 0, end = 0; i < hypotheses.size(); i = end) {
    const auto score = [&](size_t h) {
      return std::stod(hypotheses[h][1]) + lambda * std::stod(sums[h]);
    };
    size_t best = i;
    for (end = i; end < hypotheses.size() && hypotheses[end][0] == hypotheses[i][0]; ++end)
      if (score(end) > score(best)) best = end;
    std::vector<std::string_view> expected, words;
    split_words(hypotheses[best][2], expected);
    split_words(chosen.at(hypotheses[i][0]), words);
    CHECK(words == expected);
  }
  CHECK(f.results()["rescored"]["errors"] < f.results()["first_pass"]["errors"]);
  const Outcome both = f.run(joined(f.tuning(), {"--checkpoint", transformer_model()}));
  REQUIRE_MESSAGE(both.code == 0, both.err);
  CHECK(f.results()["models"].size() == 2);
}

TEST_CASE("lm_rescore --measure bleu: a translation's n-best lists") {
  const TemporaryDirectory dir;
  std::string nbest, reference;
  const Strings all = sentences(0, 20);
  for (size_t i = 0; i < all.size(); ++i) {
    nbest += concat(i, " ||| today today ", all[i], " zebra ||| -1\n", i, " ||| ", all[i],
                    " ||| -1.5\n");
    reference += all[i] + "\n";
  }
  const std::string lists = dir.write("n", nbest), references = dir.write("r", reference);
  fs::create_directory(dir / "out");
  dir.write("out/utterances.tsv", "of another rescoring\n");
  const Outcome r = run_program(
      "lm_rescore", {"--nbest", lists, "--reference", references, "--tune-nbest", lists,
                     "--tune-reference", references, "--nbest-format", "moses", "--measure", "bleu",
                     "--checkpoint", model_a(), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "warning: lambda is tuned on the same lists as --nbest"));
  const Json j = Json::parse(slurp(dir / "out/results.json"));
  CHECK(j["bleu"]["rescored"].get<double>() == Approx(100));
  CHECK(j["bleu"]["first_pass"].get<double>() < 90);
  CHECK_FALSE(fs::exists(dir / "out/utterances.tsv"));
}

TEST_CASE("lm_rescore: what is refused") {
  const Files f;
  const auto refused = [&](const Strings& arguments, int code, const std::string& why) {
    const Outcome r = f.run(arguments);
    CHECK(r.code == code);
    CHECK_MESSAGE(has(r.err, why), r.err);
    CHECK(!fs::exists(f.dir / "out"));
  };
  const Strings model{"--checkpoint", model_a()};
  refused(model, 2, "give --tune-nbest and --tune-reference");
  refused({"--lambda", "1"}, 2, "checkpoint");
  refused(joined(model, {"--tune-nbest", f.dir / "tune.nbest"}), 2, "belong together");
  refused(joined(f.tuning(), {"--lambda", "1"}), 2, "leave one of them out");
  refused(joined(f.tuning(), {"--mu", "1"}), 2, "--mu needs --lambda");
  refused(joined(f.tuning(), {"--weights", "1"}), 2, "there is one");
  const auto weighed = [&](const Strings& weights) {
    return joined(joined(f.tuning(), {"--checkpoint", model_b(), "--weights"}), weights);
  };
  refused(weighed({"1", "1", "1"}), 2, "--weights gives 3 numbers for 2 models");
  refused(weighed({"2", "-1"}), 2, "--weights -1: a weight is 0 or more");
  refused(weighed({"1", "1"}), 2, "must add up to 1");
  refused(joined(weighed({"1", "1e300"}), {"--interpolate", "log-linear"}), 2, "at most 10000000");
  refused(joined(model, {"--lambda", "1e308"}), 2, "--lambda 1e308: must be a number from -1 to 1");
  refused(joined(weighed({"0", "0"}), {"--interpolate", "log-linear"}), 2,
          "at least one model a weight above 0");
  refused(joined(f.tuning(), {"--margin-wer", "0"}), 2, "--margin-wer 0: must be");
  refused(joined(f.tuning(), {"--measure", "bleu", "--seed", "3"}), 2, "--measure wer");
  refused(joined(f.tuning(), {"--measure", "bleu", "--margin-wer", "1"}), 2, "--measure wer");
  refused(joined(model, {"--lambda", "1", "--tune-nbest", f.dir / "none", "--tune-reference", "x"}),
          2, "--lambda");
  refused({"--checkpoint", model_a(), "--tune-nbest", f.dir / "none", "--tune-reference",
           f.dir / "tune.ref"},
          1, "none");
  refused({"--checkpoint", model_a(), "--tune-nbest", f.dir / "tune.nbest", "--tune-reference",
           f.dir / "test.ref"},
          1, "no text for the utterance");
  refused(joined(model, {"--lambda", "1", "--baseline", f.dir / "test.ref"}), 1, ".trn");
  refused(joined(model, {"--lambda", "1", "--group-by", "before:#"}), 1, "--group-by");
  refused(joined(model, {"--lambda", "1", "--group-by", f.dir / "tune.ref"}), 1, "no text for");
  refused({"--checkpoint", f.dir / "nowhere", "--lambda", "1"}, 1, "nowhere");
  // An output that cannot be made is said before any list is read and scored.
  const auto written_to = [&](const std::string& output) {
    const Outcome r =
        run_program("lm_rescore", {"--nbest", f.dir / "none", "--reference", f.dir / "test.ref",
                                   "--checkpoint", model_a(), "--lambda", "1", "--output", output});
    CHECK(r.code == 1);
    return r.err;
  };
  const std::string file = f.dir / "test.ref";
  for (const auto& [output, named] :
       {std::pair{file, file}, {file + "/results", file + "/results: " + file}}) {
    const std::string err = written_to(output);
    CHECK_MESSAGE(has(err, concat("--output ", named, " is a file, not a directory; give another")),
                  err);
  }
  // A baseline or a file of groups that the output would write over.
  fs::create_directory(f.dir / "out");
  put(f.dir / "out/hyp.trn", "kept");
  CHECK(f.run(joined(model, {"--lambda", "1", "--baseline", f.dir / "out/hyp.trn"})).code == 2);
  CHECK(slurp(f.dir / "out/hyp.trn") == "kept");
  put(f.dir / "out/utterances.tsv", "kept");
  const Outcome groups =
      f.run(joined(model, {"--lambda", "1", "--group-by", f.dir / "out/utterances.tsv"}));
  CHECK(groups.code == 2);
  CHECK_MESSAGE(has(groups.err, "is also --group-by"), groups.err);
  CHECK(slurp(f.dir / "out/utterances.tsv") == "kept");
}

// The first model cannot be opened, so that whatever is said instead was found before.
TEST_CASE("lm_rescore: a wrong file is an error before anything is scored") {
  const Files f;
  const std::string broken = broken_model(f.dir), none = f.dir / "none";
  const Strings model{"--checkpoint", broken}, given = joined(model, {"--lambda", "1"});
  const auto says = [&](const Strings& arguments) {
    const Outcome r = f.run(arguments);
    CHECK(r.code == 1);
    CHECK(!fs::exists(f.dir / "out"));
    return r.err;
  };
  CHECK(has(says(given), broken));
  const auto before = [&](const Strings& arguments, const std::string& why) {
    const std::string err = says(arguments);
    CHECK_MESSAGE(has(err, why), err);
    CHECK_MESSAGE(!has(err, broken), err);
  };
  before(joined(given, {"--baseline", none}), none);
  before(joined(given, {"--baseline", f.dir / "test.ref"}), ".trn");
  before(joined(given, {"--group-by", none}), none);
  before(joined(given, {"--group-by", "before:#"}), "--group-by");
  before(joined(given, {"--group-by", f.dir / "tune.ref"}), "no text for");
  before({"--checkpoint", broken, none, "--lambda", "1"}, none);
  std::string one_group;
  for (const std::string& line : split(f.test.reference, '\n'))
    one_group += split(line, '\t')[0] + "\tg\n";
  before(joined(given, {"--group-by", f.dir.write("one", one_group)}),
         "all utterances are one group");
  std::string silence;
  for (const std::string& line : split(f.test.reference, '\n'))
    silence += split(line, '\t')[0] + "\t\n";
  f.dir.write("test.ref", silence);
  before(given, "test.ref has no words");
  // The lists that are reported, before those that are tuned on are scored.
  f.dir.write("test.nbest", "no tabs\n");
  before(
      joined(model, {"--tune-nbest", f.dir / "tune.nbest", "--tune-reference", f.dir / "tune.ref"}),
      "test.nbest, line 1");
}

TEST_CASE("lm_rescore: log zeros, and words that the model excludes, are counted and not chosen") {
  const Files f;
  f.dir.write("tune.nbest", f.tune.nbest + "x_zero\t-1\tthe cat\nx_zero\t-1e30\tthe dog\n");
  f.dir.write("tune.ref", f.tune.reference + "x_zero\tthe cat\n");
  f.dir.write("test.nbest", f.test.nbest + "x_zero\t-inf\tthe cat\nx_zero\t-1\tthe dog\n");
  f.dir.write("test.ref", f.test.reference + "x_zero\tthe cat\n");
  const Outcome r = f.run(f.tuning());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  for (const char* file : {"tune.nbest", "test.nbest"})
    CHECK_MESSAGE(has(r.err, concat(file,
                                    ": hypotheses that cannot be chosen: 1, whose scores, "
                                    "-inf or -1e10 and below, are log zeros")),
                  r.err);
  CHECK(read_trn(f.dir / "out/hyp.trn").at("x_zero") == "the dog");
  CHECK(f.results()["lambda"].get<double>() > 0);
  CHECK(f.results()["log_zero_scores"] == 1);
  CHECK(f.results()["excluded_hypotheses"] == 0);
  // A word with a bias of -inf.
  f.dir.write("test.nbest", "u1\t-1\tthe cat\nu1\t-9\tthe dog\n");
  f.dir.write("test.ref", "u1\tthe dog\n");
  const std::string model = biased_model(f.dir, "excluding", "cat", -INFINITY);
  const Outcome excluding = f.run({"--checkpoint", model, "--lambda", "0.001"});
  REQUIRE_MESSAGE(excluding.code == 0, excluding.err);
  CHECK_MESSAGE(has(excluding.err, "cannot be chosen: 1, with a word that a model excludes"),
                excluding.err);
  CHECK(f.results()["excluded_hypotheses"] == 1);
  CHECK(slurp(f.dir / "out/hyp.trn") == "the dog (u1)\n");
  REQUIRE(f.run({"--checkpoint", model, "--lambda", "0"}).code == 0);
  CHECK(slurp(f.dir / "out/hyp.trn") == "the cat (u1)\n");
}

TEST_CASE("lm_rescore: one utterance has no intervals, and needs no second") {
  const Files f;
  f.dir.write("test.nbest", "u1\t-1\tthe cat\nu1\t-9\tthe dog\n");
  f.dir.write("test.ref", "u1\tthe dog\n");
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  const Outcome r = f.run(given);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.out, "# one utterance has no intervals"), r.out);
  CHECK(!has(r.out, "["));
  CHECK(has(r.out, "difference: rescored - first pass = 0.00 points\n"));
  const Json j = f.results();
  CHECK(j["rescored"]["errors"] == 1);
  CHECK(j["rescored"]["interval"].is_null());
  CHECK(j["difference"]["units"] == 1);
  CHECK(j["difference"]["interval_95"].is_null());
  CHECK(j["power"]["margin"].is_null());
  const Outcome margin = f.run(joined(given, {"--margin-wer", "1"}));
  CHECK(margin.code == 1);
  CHECK_MESSAGE(has(margin.err, "has one utterance, but --margin-wer needs two"), margin.err);
}

TEST_CASE("lm_rescore: every segment is better by the same number of errors") {
  const TemporaryDirectory dir;
  std::string nbest, reference, baseline;
  for (int i = 0; i < 40; ++i) {
    nbest += concat("u", i, "\t-1\tthe cat saw a dog\n");
    reference += concat("u", i, "\tthe cat saw a dog\n");
    baseline += concat("the cat saw a bird (u", i, ")\n");
  }
  const Outcome r = run_program(
      "lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                     dir.write("nbest", nbest), "--reference", dir.write("reference", reference),
                     "--baseline", dir.write("baseline.trn", baseline), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.out, "40 segments, mean 1.000, deviation 0.000, Z inf, p <0.0001"), r.out);
  const Json j = Json::parse(slurp(dir / "out/results.json"));
  CHECK(j["mapsswe"]["z"].is_null());
  CHECK(j["mapsswe"]["p"] == 0);
  // One segment has no test.
  const Outcome one =
      run_program("lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                                 dir.write("nbest", "u0\t-1\tthe cat saw a dog\n"), "--reference",
                                 dir.write("reference", "u0\tthe cat saw a dog\n"), "--baseline",
                                 dir.write("baseline.trn", "the cat saw a bird (u0)\n"), "--output",
                                 dir / "one"});
  CHECK_MESSAGE(has(one.out, "MAPSSWE: 1 segment, difference 1.000: a test needs two or more"),
                one.out);
  CHECK(Json::parse(slurp(dir / "one/results.json"))["mapsswe"]["p"].is_null());
}

TEST_CASE("lm_rescore: sclite's Sum/Avg and sc_stats' MAPSSWE of what it wrote" *
          doctest::test_suite("check needs sctk")) {
  require_sctk();
  const Files f;
  REQUIRE(f.run(f.tuning()).code == 0);
  const Json j = f.results();
  const std::string cd = "cd " + (f.dir / "out") + " && ";
  for (const char* name : {"first", "hyp"}) {
    const std::string file = name;
    output_of(cd + "sctk sclite -r ref.trn trn -h " + file + ".trn trn " + file +
              " -i rm -s -o sgml");
    const std::string sum =
        output_of(cd + "sctk sclite -r ref.trn trn -h " + file + ".trn trn -i rm -s -o sum stdout");
    const Json& own = j[file == "hyp" ? "rescored" : "first_pass"];
    std::smatch avg;
    REQUIRE_MESSAGE(
        std::regex_search(sum, avg,
                          std::regex(R"(Sum/Avg *\| *(\d+) +(\d+) *\| *([\d.]+) +([\d.]+) )"
                                     R"(+([\d.]+) +([\d.]+) +([\d.]+))")),
        sum);
    const auto percent = [&](const char* what) {
      return percent_text(own[what].get<int64_t>(), own["words"].get<int64_t>());
    };
    CHECK(avg[2] == concat(own["words"].get<int64_t>()));
    CHECK(avg[4] == percent("substitutions"));
    CHECK(avg[5] == percent("deletions"));
    CHECK(avg[6] == percent("insertions"));
    CHECK(avg[7] == percent("errors"));
  }
  const std::string stats =
      output_of(cd +
                "cat first.trn.sgml hyp.trn.sgml | sctk sc_stats -p -t mapsswe -v -n x; "
                "cat x.stats.mapsswe");
  std::smatch z;
  REQUIRE_MESSAGE(
      std::regex_search(stats, z, std::regex(R"(# segs: (\d+)\)[^\n]*Z Stat: (-?[\d.]+)\))")),
      stats);
  CHECK(z[1] == concat(j["mapsswe"]["segments"].get<int64_t>()));
  CHECK(z[2] == fixed(j["mapsswe"]["z"].get<double>(), 3));
}

TEST_CASE("lm_rescore: scores that run the wrong way get a hint at --nbest-cost") {
  const TemporaryDirectory dir;
  const auto run = [&](bool rising, const Strings& more) {
    std::string list, said;
    for (int u = 0; u < 3; ++u) {
      said += concat("u", u, "\tthe dog saw him\n");
      for (int h = 0; h < 3; ++h)
        list += concat("u", u, "\t", rising ? 10 + h : 10 - h, "\tthe dog saw",
                       h == 0 ? " him" : "", "\n");
    }
    const Outcome o = run_program(
        "lm_rescore",
        joined({"--checkpoint", model_a(), "--nbest", dir.write("list", list), "--reference",
                dir.write("said", said), "--lambda", "0", "--output", dir / "out"},
               more));
    REQUIRE_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  CHECK(has(run(true, {}), concat("lm_rescore: ", dir / "list",
                                  ": in 3 of 3 lists the first hypothesis has the worst score; if "
                                  "these are costs, as in Kaldi, give --nbest-cost")));
  CHECK_FALSE(has(run(true, {"--nbest-cost"}), "nbest-cost"));
  CHECK_FALSE(has(run(false, {}), "nbest-cost"));
  CHECK(has(run(false, {"--nbest-cost"}), "if these are not costs, leave out --nbest-cost"));
}
