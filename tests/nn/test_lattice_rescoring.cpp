// Lattices under models that read whole histories: against all word sequences, one after another.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/number_format.h"
#include "data/lattice_paths.h"
#include "data/ngram_model.h"
#include "nn/models/language_model.h"
#include "nn/models/language_network.h"
#include "nn/models/lattice_rescoring.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lattice_rescoring {
namespace {

using Words = std::vector<int32_t>;

// A model without sense, whose probabilities depend on every word before.
class WholeHistory final : public HistoryModel {
 public:
  void start(const Lattice&) override { read_.assign(1, {}); }
  bool knows(int32_t) const override { return true; }
  void advance(std::span<const Step> steps) override {
    for (const Step& step : steps) {
      Words words = read_[static_cast<size_t>(step.first)];
      words.push_back(step.second);
      read_.push_back(words);
    }
  }
  std::vector<double> log_p(std::span<const Step> steps) override {
    std::vector<double> all;
    for (const Step& step : steps)
      all.push_back(of(read_[static_cast<size_t>(step.first)], step.second));
    return all;
  }
  static double of(const Words& history, int32_t word) {
    uint32_t hash = 17;
    for (const int32_t w : history) hash = hash * 31 + static_cast<uint32_t>(w) + 7;
    std::mt19937 random(hash * 31 + static_cast<uint32_t>(word + 1));
    return -std::uniform_real_distribution<double>(0, 6)(random);
  }

 private:
  std::vector<Words> read_;
};

double whole_log_p(const Words& words) {
  Words read;
  double sum = 0;
  for (const int32_t word : words) {
    sum += WholeHistory::of(read, word);
    read.push_back(word);
  }
  return sum + WholeHistory::of(read, HistoryModel::kEnd);
}

Lattice random_lattice(uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> score(-5, 0);
  const int nodes = 5 + static_cast<int>(random() % 4);
  const std::vector<std::string> words{"the", "cat", "dog", "a", "!NULL", "zebra", "saw"};
  std::string lines;
  int links = 0;
  for (int from = 0; from + 1 < nodes; ++from)
    for (int to = from + 1; to < nodes; ++to)
      for (auto more = random() % 3 + (to == from + 1 ? 1 : 0); more > 0; --more)
        lines +=
            concat("J=", links++, " S=", from, " E=", to, " W=", words[random() % words.size()],
                   " a=", shortest(score(random)), " l=", shortest(score(random)), "\n");
  std::string text = concat("N=", nodes, " L=", links, "\n");
  for (int node = 0; node < nodes; ++node) text += concat("I=", node, "\n");
  const TemporaryDirectory dir;
  return std::move(read_lattices(dir.write("l.lat", text + lines), {}).at(0));
}

double total(const LatticePath& path, double log_p, const LatticeSearch& search) {
  return path.score + search.lambda * log_p + search.mu * static_cast<double>(path.words.size());
}

// The best total of all word sequences.
double best_of_all(const Lattice& lattice, const LatticeSearch& search,
                   const std::function<double(const Words&)>& log_p) {
  double best = -INFINITY;
  for (const LatticePath& path : n_best_paths(lattice, search.scales, 1'000'000))
    best = std::max(best, total(path, log_p(path.words), search));
  return best;
}

const std::string kArpa =
    "\\data\\\nngram 1=7\nngram 2=4\nngram 3=2\n\n\\1-grams:\n-99\t<s>\t-0.4\n-0.9\t</s>\n"
    "-1.5\t<unk>\t-0.2\n-0.5\tthe\t-0.3\n-0.7\tcat\t0.1\n-1\tdog\t-0.6\n-0.8\tzebra\n\n\\2-grams:\n"
    "-0.2\t<s> the\t-0.5\n-0.3\tthe cat\t-0.1\n-0.4\tcat the\t-0.2\n-0.6\tthe dog\n\n\\3-grams:\n"
    "-0.1\t<s> the dog\n-0.15\tthe cat the\n\n\\end\\\n";

}  // namespace

TEST_CASE("rescore_lattice: exact without merging, and never better with it") {
  int worse = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    const Lattice lattice = random_lattice(seed);
    WholeHistory model;
    for (LatticeSearch search : {LatticeSearch{.scales = {}, .history = LatticeSearch::kWhole},
                                 {.scales = {.acoustic = 0.2, .language = 0},
                                 .lambda = 1.5,
                                 .mu = 0.7,
                                 .history = LatticeSearch::kWhole}}) {
      const double best = best_of_all(lattice, search, whole_log_p);
      const auto exact = rescore_lattice(lattice, model, search);
      REQUIRE(exact);
      CHECK(exact->score == doctest::Approx(best).epsilon(1e-12));
      CHECK(exact->log_p == doctest::Approx(whole_log_p(exact->words)).epsilon(1e-12));
      CHECK(exact->score == doctest::Approx(exact->first_pass + search.lambda * exact->log_p +
                                            search.mu * static_cast<double>(exact->words.size()))
                                .epsilon(1e-12));
      int64_t hypotheses = 0;
      for (const int64_t history : {0, 1, 2, 3, 20}) {
        search.history = history;
        const auto merged = rescore_lattice(lattice, model, search);
        REQUIRE(merged);
        CHECK(merged->score <= best + 1e-9);
        CHECK(merged->log_p == doctest::Approx(whole_log_p(merged->words)).epsilon(1e-12));
        CHECK(merged->hypotheses >= hypotheses);
        hypotheses = merged->hypotheses;
        if (history == 0 && merged->score < best - 1e-9) ++worse;
        if (history == 20) CHECK(merged->score == doctest::Approx(best).epsilon(1e-12));
      }
      CHECK(exact->hypotheses == hypotheses);
    }
  }
  CHECK(worse > 10);  // merging loses something, so that the checks above could fail
}

TEST_CASE("rescore_lattice: an n-gram model of order n + 1 loses nothing by merging") {
  const TemporaryDirectory dir;
  const std::string path = dir.write("n.arpa", kArpa);
  const NGramModel ngrams = NGramModel::read(path);
  const auto model = open_history_model(path);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Lattice lattice = random_lattice(seed);
    const LatticeSearch search{.scales = {}, .lambda = 1.2, .mu = 0.3, .history = 2};
    const double best = best_of_all(lattice, search, [&](const Words& words) {
      double sum = 0;
      for (const double log_p : ngrams.score(text_of(lattice, words))) sum += log_p;
      return sum;
    });
    const auto found = rescore_lattice(lattice, *model, search);
    REQUIRE(found);
    CHECK(found->score == doctest::Approx(best).epsilon(1e-9));
  }
}

TEST_CASE("rescore_lattice: networks and mixtures give the sums of their word sequences") {
  const TemporaryDirectory dir;
  const std::string arpa = dir.write("n.arpa", kArpa);
  for (const std::string& path : {model_a(), transformer_model()}) {
    const LanguageModel alone = LanguageModel::load(path);
    const auto model = open_history_model(path),
               mixed = open_history_models({path, arpa}, {0.6, 0.4});
    const NGramModel ngrams = NGramModel::read(arpa);
    for (uint32_t seed = 0; seed < 6; ++seed) {
      const Lattice lattice = random_lattice(seed);
      LatticeSearch search{
          .scales = {}, .lambda = 1.2, .mu = 0.3, .history = LatticeSearch::kWhole};
      const auto own = [&](const Words& words) {
        double sum = 0;
        const auto scores = alone.score({text_of(lattice, words)});
        for (const double log_p : scores[0]) sum += log_p;
        return sum;
      };
      const auto found = rescore_lattice(lattice, *model, search);
      REQUIRE(found);
      CHECK(found->log_p == doctest::Approx(own(found->words)).epsilon(1e-6));
      if (n_best_paths(lattice, {}, 300).size() < 300)
        CHECK(found->score == doctest::Approx(best_of_all(lattice, search, own)).epsilon(1e-6));
      const auto both = rescore_lattice(lattice, *mixed, search);
      REQUIRE(both);
      const std::string line = text_of(lattice, both->words);
      const std::vector<double> a = alone.score({line})[0], b = ngrams.score(line);
      double sum = 0;
      for (size_t t = 0; t < a.size(); ++t) {
        const std::string word(t < both->words.size() ? lattice.words.text(both->words[t])
                                                      : "</s>");
        const bool in_a = alone.vocabulary().id(word) != alone.unknown(),
                   in_b = ngrams.find(word) >= 0;
        sum += std::log((in_a || !in_b ? 0.6 * std::exp(a[t]) : 0) +
                        (in_b || !in_a ? 0.4 * std::exp(b[t]) : 0));
      }
      CHECK(both->log_p == doctest::Approx(sum).epsilon(1e-6));
    }
  }
}

TEST_CASE("rescore_lattice: a path that is longer than the network's window, as score() reads it") {
  const LanguageModel alone = LanguageModel::load(transformer_model());
  const auto model = open_history_model(transformer_model());
  const std::vector<std::string> words{"the", "cat", "saw", "a", "dog"};
  const int64_t window = alone.network().window();
  const TemporaryDirectory dir;
  for (const int64_t length : {window - 1, window, window + 1, 2 * window + 7}) {
    std::string nodes, links, line;
    for (int64_t i = 0; i < length; ++i) {
      const std::string& word = words[static_cast<size_t>(i * i + i / 7) % words.size()];
      nodes += concat("I=", i, "\n");
      links += concat("J=", i, " S=", i, " E=", i + 1, " W=", word, " a=-1\n");
      line += (i == 0 ? "" : " ") + word;
    }
    const std::string text =
        concat("N=", length + 1, " L=", length, "\n", nodes, "I=", length, "\n", links);
    const Lattice chain = std::move(read_lattices(dir.write("l.lat", text), {}).at(0));
    const auto found = rescore_lattice(chain, *model, {.scales = {}});
    REQUIRE(found);
    const auto scores = alone.score({line});
    double sum = 0;
    for (const double log_p : scores[0]) sum += log_p;
    CHECK(found->log_p == doctest::Approx(sum).epsilon(1e-6));
  }
}

TEST_CASE("rescore_lattice: a limit, and models that exclude every path") {
  const Lattice lattice = random_lattice(3);
  WholeHistory model;
  CHECK(has(error_of([&] {
              rescore_lattice(lattice, model,
                              {.scales = {}, .history = LatticeSearch::kWhole, .most = 5});
            }),
            "more than 5 hypotheses"));
  const TemporaryDirectory dir;
  const std::string closed =
      dir.write("c.arpa", "\\data\\\nngram 1=2\n\n\\1-grams:\n-99 <s>\n-1 </s>\n\n\\end\\\n");
  const auto none = open_history_model(closed);
  const std::string text = "N=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=x a=-1\n";
  const Lattice one = std::move(read_lattices(dir.write("x.lat", text), {}).at(0));
  CHECK_FALSE(rescore_lattice(one, *none, {.scales = {}}));
  CHECK(rescore_lattice(one, *none, {.scales = {}, .lambda = 0}));
}

}  // namespace nine::tests::test_lattice_rescoring
