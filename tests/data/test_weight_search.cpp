// Minimum error rate training against brute force: every place where the choice of a list can
// change, and a grid of weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "data/measures/rescoring.h"
#include "data/measures/weight_search.h"
#include "data/measures/word_errors.h"
#include "tests/support/support.h"

namespace nine::tests::test_weight_search {
namespace {

using doctest::Approx;
using Weights = std::vector<double>;

// Lists of whole numbers between -4 and 4, so that equal sums and slopes are frequent.
TuningSet random_set(RandomStream& random, size_t lists, size_t features, bool infinities) {
  TuningSet set{.features = features, .counts = 1};
  for (size_t l = 0; l < lists; ++l) {
    const size_t size = 1 + random.below(6);
    for (size_t i = 0; i < size; ++i) {
      for (size_t d = 0; d < features; ++d)
        set.values.push_back(infinities && random.below(12) == 0
                                 ? -INFINITY
                                 : static_cast<double>(random.below(9)) - 4);
      set.counted.push_back(static_cast<int64_t>(random.below(7)));
      set.impossible.push_back(infinities && random.below(12) == 0 ? 1 : 0);
    }
    set.ends.push_back(set.impossible.size());
  }
  set.loss = [](std::span<const int64_t> sums) { return static_cast<double>(sums[0]); };
  return set;
}

Weights moved(const Weights& weights, const Weights& direction, double at) {
  Weights w = weights;
  for (size_t d = 0; d < w.size(); ++d) w[d] += at * direction[d];
  return w;
}

// The smallest loss at the middle of each pair of neighbouring places where two hypotheses of a
// list have equal sums.
double least_by_brute_force(const TuningSet& set, const Weights& weights, const Weights& direction,
                            double low, double high) {
  std::vector<double> corners{0};
  const auto line = [&](size_t i, const Weights& by) {
    double sum = 0;
    for (size_t d = 0; d < set.features; ++d) sum += by[d] * set.values[i * set.features + d];
    return sum;
  };
  for (size_t list = 0, begin = 0; list < set.ends.size(); begin = set.ends[list++])
    for (size_t a = begin; a < set.ends[list]; ++a)
      for (size_t b = begin; b < a; ++b) {
        const double at =
            (line(a, weights) - line(b, weights)) / (line(b, direction) - line(a, direction));
        if (std::isfinite(at)) corners.push_back(at);
      }
  for (const double end : {low, high})
    if (std::isfinite(end)) corners.push_back(end);
  std::ranges::sort(corners);
  std::vector<double> points{corners.front() - 1, corners.back() + 1};
  for (size_t k = 1; k < corners.size(); ++k)
    if (corners[k] - corners[k - 1] > 1e-6) points.push_back((corners[k] + corners[k - 1]) / 2);
  double least = INFINITY;
  for (const double at : points)
    if (at > low && at < high) least = std::min(least, loss_of(set, moved(weights, direction, at)));
  return least;
}

}  // namespace

TEST_CASE("minimum_on_line: the loss that brute force finds, and weights that have it") {
  RandomStream random({.seed = 5});
  for (int round = 0; round < 2000; ++round) {
    const size_t features = 1 + random.below(4);
    const TuningSet set = random_set(random, 1 + random.below(6), features, round % 2 == 1);
    Weights weights, direction;
    for (size_t d = 0; d < features; ++d) {
      weights.push_back(random.uniform() * 4 - 2);  // of random digits: no weight becomes 0
      direction.push_back(random.below(3) == 0 ? 0 : random.uniform() * 2 - 1);
    }
    const double low = round % 3 == 0 ? -random.uniform() : -INFINITY,
                 high = round % 4 == 0 ? random.uniform() : INFINITY;
    const LineMinimum found = minimum_on_line(set, weights, direction, low, high);
    CAPTURE(round);
    CHECK(found.at >= low);
    CHECK(found.at <= high);
    CHECK(loss_of(set, moved(weights, direction, found.at)) == found.loss);
    CHECK(found.loss == least_by_brute_force(set, weights, direction, low, high));
    if (found.loss == loss_of(set, weights)) CHECK(found.at == 0);
  }
}

TEST_CASE("minimum_on_line: by hand") {
  // The second hypothesis has one error less, and is the best from at = 2 to at = 4.
  TuningSet set{.features = 2,
                .counts = 1,
                .ends = {3},
                .values = {0, 0, -2, 1, -6, 2},
                .counted = {1, 0, 5},
                .impossible = {0, 0, 0}};
  set.loss = [](std::span<const int64_t> sums) { return static_cast<double>(sums[0]); };
  const Weights first{1, 0}, along{0, 1};
  const LineMinimum found = minimum_on_line(set, first, along);
  CHECK(found.at == 3);
  CHECK(found.loss == 0);
  CHECK(minimum_on_line(set, first, along, 3.5).at == 3.75);
  CHECK(minimum_on_line(set, first, along, -INFINITY, 2.5).at == 2.25);
  CHECK(minimum_on_line(set, first, along, -INFINITY, 2.5).loss == 0);
  CHECK(minimum_on_line(set, first, along, -1, 1.5).loss == 1);  // a better place is beyond
  set.counted = {1, 5, 0};
  CHECK(minimum_on_line(set, first, along).at == 4.5);  // an eighth beyond the last corner
  set.impossible[2] = 1;
  CHECK(minimum_on_line(set, first, along).at == 0);
  // A choice of equal hypotheses is the first one's.
  TuningSet equal{.features = 1,
                  .counts = 1,
                  .ends = {2},
                  .values = {1, 1},
                  .counted = {3, 0},
                  .impossible = {0, 0}};
  equal.loss = set.loss;
  CHECK(minimum_on_line(equal, Weights{1}, Weights{1}).loss == 3);
}

TEST_CASE("search_weights: as good as a fine grid of weights, seeded, bounded") {
  RandomStream random({.seed = 11});
  int better = 0;
  for (int round = 0; round < 60; ++round) {
    const TuningSet set = random_set(random, 12, 3, false);
    const std::vector<bool> not_negative{true, false, false};
    const Weights start{1, 0, 0};
    const FoundWeights found = search_weights(set, start, not_negative, {});
    CHECK(found.weights[0] >= 0);
    CHECK_FALSE(found.stopped);
    CHECK(loss_of(set, found.weights) == found.loss);
    CHECK(search_weights(set, start, not_negative, {}).weights == found.weights);
    double least = INFINITY;
    for (int x = 0; x <= 133; ++x)
      for (int y = 0; y <= 133; ++y)
        least = std::min(least, loss_of(set, Weights{1, -5.999 + 0.09 * x, -6.002 + 0.09 * y}));
    better += found.loss <= least ? 1 : 0;
    CHECK(found.loss <= search_weights(set, start, not_negative, {.restarts = 0}).loss);
  }
  CHECK(better >= 57);  // coordinates find no narrow diagonal now and then
  const TuningSet set = random_set(random, 12, 3, false);
  const FoundWeights bounded =
      search_weights(set, Weights{1, 0, 0}, {true, false, false}, {.most_lines = 4});
  CHECK(bounded.stopped);
  CHECK(bounded.lines == 4);
}

TEST_CASE("tune_weights_together: three scores, one of which is the errors; BLEU; log zeros") {
  RandomStream random({.seed = 3});
  std::vector<NBestList> lists;
  std::vector<std::string> references;
  std::vector<double> log_p;
  for (int l = 0; l < 40; ++l) {
    NBestList& list = lists.emplace_back();
    list.utterance = concat("u", l);
    references.emplace_back("a b c d e");
    for (int h = 0; h < 6; ++h) {
      std::string words;
      for (const char* word : {"a", "b", "c", "d", "e"})
        words += concat(words.empty() ? "" : " ", random.below(3) == 0 ? "x" : word);
      const auto errors = static_cast<double>(count_word_errors(references.back(), words).errors());
      const double acoustic = -100 * random.uniform(), noise = -100 * random.uniform();
      list.hypotheses.push_back(
          {acoustic, words, {acoustic, 60 * -errors + 30 * random.uniform() - noise, noise}});
      log_p.push_back(-10 * random.uniform());
    }
  }
  for (const RescoringMeasure measure : {RescoringMeasure::wer, RescoringMeasure::bleu}) {
    const TunedWeights tuned = tune_weights_together(lists, log_p, references, measure, {});
    REQUIRE(tuned.first.size() == 3);
    CHECK(tuned.first[0] <= 1);
    CHECK(tuned.first[1] > 0);
    CHECK(tuned.first[2] > 0);  // takes back the noise in the second score
    const auto chosen = choose_hypotheses(scored_lists(lists, log_p, tuned.first), tuned);
    int64_t errors = 0, oracle = 0;
    const auto all = hypothesis_errors(lists, references);
    for (size_t i = 0; i < lists.size(); ++i) {
      errors += all[i][chosen[i]];
      oracle += std::ranges::min(all[i]);
    }
    CHECK(errors <= oracle + 2);
  }
  lists[0].hypotheses[0].scores[1] = -INFINITY;
  const TunedWeights again =
      tune_weights_together(lists, log_p, references, RescoringMeasure::wer, {});
  CHECK(std::isinf(scored_lists(lists, log_p, again.first)[0][0].first_pass));
  CHECK(has(error_of([&] {
              scored_lists(lists, log_p, Weights{1, 2});
            }),
            "there are 2 weights for 3 first-pass scores"));
  lists[1].hypotheses[0].scores.pop_back();
  CHECK(has(
      error_of([&] { tune_weights_together(lists, log_p, references, RescoringMeasure::wer, {}); }),
      "hypotheses have 3 and 2 scores"));
}

}  // namespace nine::tests::test_weight_search
