// Choosing among hypotheses, finding the weights, and comparing the word errors of two systems.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "core/random.h"
#include "data/measures/compare_errors.h"
#include "data/measures/rescoring.h"
#include "data/measures/word_errors.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_weights {
namespace {

using doctest::Approx;

}  // namespace

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
  const TunedWeights tuned = tune_weights(lists, loss);
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
  const TunedWeights by_words = tune_weights(words, loss);
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
  const TunedWeights plain = tune_weights(lists, loss);
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

TEST_CASE("rescoring lists: numbers that do not fit the lists are refused") {
  NBestHypothesis h;
  h.words = "a b";
  const std::vector<NBestList> lists{{"u1", {h, h}}, {"u2", {h}}}, empty{{"u1", {}}};
  const std::vector<std::string> one{"a b"}, two{"a b", "a"};
  const std::vector<double> log_p{-1, -2, -3}, few{-1, -2};
  const std::vector<size_t> chosen{0};
  const auto refused = [](auto&& run, const char* text) {
    const std::string error = error_of(run);
    CHECK_MESSAGE(has(error, text), error);
  };
  refused([&] { hypothesis_errors(lists, one); }, "there are 1 references for 2 lists");
  refused([&] { scored_lists(lists, few); }, "there are 2 log-probabilities for 3 hypotheses");
  refused([&] { chosen_texts(lists, chosen); }, "there are 1 choices for 2 lists");
  refused([&] { first_choices(empty); }, "the list of 'u1' has no hypotheses");
  for (const auto measure : {RescoringMeasure::wer, RescoringMeasure::bleu}) {
    refused([&] { tune_weights_together(lists, log_p, one, measure, {}); },
            "1 references for 2 lists");
    refused([&] { tune_weights_together(lists, few, two, measure, {}); }, "for 3 hypotheses");
    refused([&] { tune_weights_together(empty, {}, one, measure, {}); }, "'u1' has no hypotheses");
  }
}

TEST_CASE("rescoring lists: first choices, word errors, scores, weights for either measure") {
  const std::vector<NBestList> lists{
      {"a", {{-3, "the cat sat here now"}, {-2, "the cat sat here now too"}, {-2, "a cat"}}},
      {"b", {{-1, "no"}, {-5, "yes it is"}}}};
  const std::vector<std::string> right{"the cat sat here now", "yes it is"};
  CHECK(first_choices(lists) == std::vector<size_t>{1, 0});
  CHECK(chosen_texts(lists, std::vector<size_t>{2, 1}) ==
        std::vector<std::string>{"a cat", "yes it is"});
  CHECK(all_texts(lists).size() == 5);
  CHECK(hypothesis_errors(lists, right) == std::vector<std::vector<int64_t>>{{0, 1, 4}, {3, 0}});
  CHECK(count_word_errors(right[0], "a cat sat here").errors() == 2);
  // The language model prefers the right ones.
  const std::vector<ScoredList> scores =
      scored_lists(lists, std::vector<double>{-5, -9, -9, -20, -6});
  CHECK(scores[0][1].words == 6);
  CHECK(scores[1][1].log_p == -6);
  CHECK(scores[1][0].first_pass == -1);
  for (const RescoringMeasure measure : {RescoringMeasure::wer, RescoringMeasure::bleu}) {
    const TunedWeights tuned = tune_weights(lists, scores, right, measure);
    CHECK(!tuned.undecided);
    CHECK(choose_hypotheses(scores, tuned) == std::vector<size_t>{0, 1});
  }
  // Every hypothesis has as many errors as the others of its list.
  const std::vector<NBestList> equal{{"a", {{-1, "x"}, {-2, "y"}}}};
  const TunedWeights none = tune_weights(equal, scored_lists(equal, std::vector<double>{-1, -2}),
                                         std::vector<std::string>{"z"}, RescoringMeasure::wer);
  CHECK(none.undecided);
  CHECK(none.lambda == 0);
}

}  // namespace nine::tests::test_rescoring_weights
