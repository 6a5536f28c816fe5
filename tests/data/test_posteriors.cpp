// Posteriors of a list, minimum Bayes risk, word confidences and their cross-entropy, against plain
// loops.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/random.h"
#include "data/measures/posteriors.h"
#include "data/text.h"
#include "tests/support/support.h"

namespace nine::tests::test_posteriors {
namespace {

using doctest::Approx;
using Texts = std::vector<std::string_view>;

std::string random_text(RandomStream& random, size_t most) {
  std::string text;
  for (size_t n = random.below(most + 1); n > 0; --n)
    text += concat(text.empty() ? "" : " ", "w", random.below(4));
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for_each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

// By the definition, without a table.
int64_t slow_distance(std::span<const std::string> a, std::span<const std::string> b) {
  if (a.empty() || b.empty()) return std::ssize(a) + std::ssize(b);
  const int64_t both = slow_distance(a.subspan(1), b.subspan(1)) + (a[0] == b[0] ? 0 : 1);
  return std::min({both, slow_distance(a.subspan(1), b) + 1, slow_distance(a, b.subspan(1)) + 1});
}

}  // namespace

TEST_CASE("posteriors: a softmax of scaled scores, log zeros, large numbers") {
  const std::vector<double> p = posteriors(std::vector<double>{-1, -2, -INFINITY}, 2);
  CHECK(p[0] == Approx(1 / (1 + std::exp(-2.0))));
  CHECK(p[0] + p[1] == Approx(1));
  CHECK(p[2] == 0);
  CHECK(posteriors(std::vector<double>{-1e9, -2e9}, 1) == std::vector<double>{1, 0});
  CHECK(posteriors(std::vector<double>{-3, -7}, 0) == std::vector<double>{0.5, 0.5});
  CHECK(posteriors(std::vector<double>{-INFINITY, -INFINITY}, 1) == std::vector<double>{1, 0});
  CHECK(has(error_of([] { posteriors({}, 1); }), "no scores"));
}

TEST_CASE("word_distance: the recursive definition, short texts and texts above 64 words") {
  RandomStream random({.seed = 2});
  for (int i = 0; i < 300; ++i) {
    const std::string a = random_text(random, 6), b = random_text(random, 6);
    CHECK(word_distance(a, b) == slow_distance(words_of(a), words_of(b)));
    CHECK(word_distance(a, b) == word_distance(b, a));
  }
  // 64 words go by bits, 65 by a table. A prefix of other words adds its length.
  std::string same;
  for (int i = 0; i < 61; ++i) same += concat(" same", i);
  for (int i = 0; i < 300; ++i) {
    const std::string a = random_text(random, 5), b = random_text(random, 5);
    CHECK(word_distance(a + same, b + same) == word_distance(a, b));
  }
}

TEST_CASE("least_expected_errors: brute force") {
  RandomStream random({.seed = 7});
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    std::vector<double> scores;
    for (size_t n = 1 + random.below(6); n > 0; --n) {
      texts.push_back(random_text(random, 5));
      scores.push_back(-10 * random.uniform());
    }
    const std::vector<double> p = posteriors(scores, 0.5);
    const ExpectedErrors found =
        ListDistances(Texts(texts.begin(), texts.end())).least_expected_errors(p);
    double least = INFINITY;
    for (size_t i = 0; i < texts.size(); ++i) {
      double expected = 0;
      for (size_t j = 0; j < texts.size(); ++j)
        expected +=
            p[j] * static_cast<double>(slow_distance(words_of(texts[i]), words_of(texts[j])));
      least = std::min(least, expected);
      if (i == found.hypothesis) CHECK(found.errors == Approx(expected));
    }
    CHECK(found.errors == Approx(least));
  }
  // The best hypothesis is not the one with the least risk.
  const Texts texts{"a b c d", "x y z d", "x y z e", "x y z f"};
  CHECK(ListDistances(texts)
            .least_expected_errors(std::vector<double>{0.4, 0.2, 0.2, 0.2})
            .hypothesis == 1);
  // Equal: the larger posterior, then the first.
  CHECK(ListDistances(Texts{"a", "b"})
            .least_expected_errors(std::vector<double>{0.5, 0.5})
            .hypothesis == 0);
  CHECK(ListDistances(Texts{"a", "b", "b"})
            .least_expected_errors(std::vector<double>{0.5, 0.2, 0.3})
            .hypothesis == 0);
}

TEST_CASE("WordSupport: the posteriors of the hypotheses that have the word there") {
  const Texts texts{"the cat sat", "the bat sat", "a cat", ""};
  const std::vector<double> p{0.4, 0.3, 0.2, 0.1};
  const std::vector<double> c = WordSupport(texts, 0).confidences(p);
  REQUIRE(c.size() == 3);
  CHECK(c[0] == Approx(0.7));
  CHECK(c[1] == Approx(0.6));
  CHECK(c[2] == Approx(0.7));
  CHECK(WordSupport(texts, 3).confidences(p).empty());
  CHECK(has(error_of([&] { WordSupport(texts, 0).confidences(std::vector<double>{1}); }),
            "there are 1 posteriors for"));
  // A word that is there twice counts once each.
  const std::vector<double> twice =
      WordSupport(Texts{"no no", "no"}, 0).confidences(std::vector<double>{0.5, 0.5});
  CHECK(twice[0] + twice[1] == Approx(1.5));
}

TEST_CASE("normalised_cross_entropy: sclite's numbers") {
  // sctk 2.4.12 prints 0.609 for this CTM, -2.860 and -2.962 for the next two.
  const std::vector<ScoredWord> words{{0.9, true}, {0.8, true}, {0.4, false}, {0.7, true},
                                      {1.0, true}, {0.6, true}, {0.0, false}, {0.95, true}};
  const auto nce = [&](size_t changed, double confidence) {
    std::vector<ScoredWord> other = words;
    other[changed].confidence = confidence;
    return normalised_cross_entropy(other).value();
  };
  CHECK(nce(0, 0.9) == Approx(0.609).epsilon(0.001));
  CHECK(nce(2, 1.0) == Approx(-2.860).epsilon(0.0002));
  CHECK(nce(7, 0.0) == Approx(-2.962).epsilon(0.0002));
  std::vector<ScoredWord> flat(4, {0.75, true});
  CHECK(!normalised_cross_entropy(flat).has_value());
  flat[0].correct = false;
  CHECK(normalised_cross_entropy(flat).value() == Approx(0).epsilon(1e-12));
  CHECK(!normalised_cross_entropy({}).has_value());
}

TEST_CASE("fit_confidences: the likelihood of a fine grid, and the map that made the words") {
  RandomStream random({.seed = 19});
  std::vector<ScoredWord> words;
  const ConfidenceMap truth{0.3, 0.85};
  for (int i = 0; i < 4000; ++i) {
    const double confidence = random.below(3) == 0 ? 1 : random.uniform();
    words.push_back({confidence, random.uniform() < truth(confidence)});
  }
  const auto loss = [&](const ConfidenceMap& map) {
    std::vector<ScoredWord> mapped = words;
    for (ScoredWord& word : mapped) word.confidence = map(word.confidence);
    return -normalised_cross_entropy(mapped).value();
  };
  const ConfidenceMap fitted = fit_confidences(words, 2000);
  CHECK(fitted.low == Approx(truth.low).epsilon(0.1));
  CHECK(fitted.high == Approx(truth.high).epsilon(0.03));
  CHECK(loss(fitted) < 0);
  CHECK(loss({}) > 0);  // words with the confidence 1 are wrong
  for (double low = 0; low <= 1; low += 0.05)
    for (double high = 0; high <= 1; high += 0.05) CHECK(loss(fitted) <= loss({low, high}) + 1e-6);
  CHECK(fit_confidences({}).high == 1);
}

}  // namespace nine::tests::test_posteriors
