// lm_score --compare against two models' --tokens, and the bootstrap behind its interval.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "nn/models/compare_models.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_compare {
namespace {

// The lines of --compare that are `name TAB value ...`, and those of sentences.
struct Compared {
  std::map<std::string, Strings> values;
  std::vector<Strings> sentences;
  double number(const std::string& name, size_t i = 1) const {
    return std::stod(values.at(name).at(i));
  }
};
Compared compare(const std::string& a, const std::string& b, const std::string& text,
                 const Strings& more = {}) {
  Strings arguments{"--compare", a, b};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Compared c;
  bool sentences = false;
  for (const std::string& line : split(lm_score(arguments, text), '\n')) {
    const Strings cells = split(line, '\t');
    if (sentences)
      c.sentences.push_back(cells);
    else
      c.values[cells[0]] = cells;
    sentences = sentences || cells[0] == "better";
  }
  return c;
}

}  // namespace

TEST_CASE("lm_score --compare: a model with itself") {
  const Compared c = compare(model_a(), model_a() + "/checkpoints/latest", longer_text());
  CHECK(c.values.at("mean gain")[1] == "0.000000");
  CHECK(c.values.at("ratio")[1] == "1.000000");
  CHECK(c.values.at("95% interval") == Strings{"95% interval", "1.000000", "1.000000"});
  CHECK(c.sentences.empty());
  const auto said = [](const std::string& b) {
    return run_program("lm_score", {"--compare", model_a(), b}, longer_text()).err;
  };
  CHECK(has(said(model_a() + "/checkpoints/latest"),
            concat("/checkpoints/latest has the weights of ", model_a(),
                   ": a model is compared with itself")));
  CHECK_FALSE(has(said(model_b()), "itself"));
}

TEST_CASE("lm_score --compare: the differences of two models' --tokens") {
  const std::string text = longer_text() + kLmText;
  const auto a = scored_tokens(model_a(), text), b = scored_tokens(model_b(), text);
  const Compared c = compare(model_a(), model_b(), text, {"--worst", "3"});
  double gain = 0, nats_a = 0, nats_b = 0;
  int64_t count = 0;
  std::vector<double> sums;
  for (size_t s = 0; s < a.size(); ++s) {
    sums.push_back(0);
    for (size_t t = 0; t < a[s].size(); ++t, ++count) {
      sums.back() += b[s][t] - a[s][t];
      nats_a -= a[s][t];
      nats_b -= b[s][t];
    }
    gain += sums.back();
  }
  const auto n = static_cast<double>(count);
  CHECK(c.values.at("tokens")[1] == std::to_string(count));
  CHECK(c.values.at("sentences")[1] == std::to_string(a.size()));
  CHECK(c.number("perplexity A") == doctest::Approx(std::exp(nats_a / n)).epsilon(1e-5));
  CHECK(c.number("perplexity B") == doctest::Approx(std::exp(nats_b / n)).epsilon(1e-5));
  CHECK(std::abs(c.number("mean gain") - gain / n) < 2e-6);
  CHECK(c.number("ratio") == doctest::Approx(std::exp(-gain / n)).epsilon(1e-5));
  CHECK(c.number("95% interval", 1) < c.number("ratio"));
  CHECK(c.number("95% interval", 2) > c.number("ratio"));
  CHECK(!c.values.contains("left out"));

  REQUIRE(c.sentences.size() == 6);
  std::vector<size_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return sums[x] > sums[y]; });
  for (size_t i = 0; i < 6; ++i) {
    const Strings& row = c.sentences[i];
    REQUIRE(row.size() == 5);
    CHECK(row[0] == (i < 3 ? "B" : "A"));
    const double expected = sums[i < 3 ? order[i] : order[order.size() - 1 - (i - 3)]];
    const size_t s = std::stoul(row[1]) - 1;
    CHECK(std::abs(std::stod(row[2]) - expected) < 1e-4);
    CHECK(std::abs(sums[s] - expected) < 1e-5);
    CHECK(std::abs(std::stod(row[3]) - sums[s] / static_cast<double>(a[s].size())) < 1e-4);
    const Strings words = split(row[4], ' ');
    REQUIRE(words.size() == a[s].size());
    for (size_t t = 0; t < words.size(); ++t)
      CHECK(std::abs(std::stod(words[t].substr(words[t].rfind('/') + 1)) - (b[s][t] - a[s][t])) <
            1e-3);
    CHECK(words.back().starts_with("</s>/"));
  }

  const auto interval = [&](const Strings& more) {
    return compare(model_a(), model_b(), text, more).values.at("95% interval");
  };
  CHECK(interval({"--seed", "4", "--threads", "1"}) == interval({"--seed", "4", "--threads", "2"}));
  CHECK(interval({"--seed", "4"}) != interval({"--seed", "5"}));
  // Turned around, everything is.
  const Compared back = compare(model_b(), model_a(), text);
  CHECK(back.number("mean gain") == -c.number("mean gain"));
  CHECK(back.number("perplexity A") == c.number("perplexity B"));
  // With carried state as in validation.
  const Outcome carried =
      run_program("lm_score", {"--checkpoint", model_a(), "--carry-state"}, text);
  CHECK(carried.err.starts_with(
      "perplexity " +
      compare(model_a(), model_b(), text, {"--carry-state"}).values.at("perplexity A")[1] + " "));
}

TEST_CASE("lm_score --compare: with other vocabularies, the words that both know") {
  const std::string text = longer_text() + kLmText;
  const std::string dict = "\n" + slurp(model_c() + "/checkpoints/latest/dict.txt"),
                    whole = "\n" + slurp(model_a() + "/checkpoints/latest/dict.txt");
  const auto knows = [](const std::string& words, const std::string& word) {
    return word == "</s>" || words.find("\n" + word + " ") != std::string::npos;
  };
  const auto a = scored_tokens(model_a(), text), c = scored_tokens(model_c(), text);
  double nats = 0;
  int64_t both = 0, only_a = 0, neither = 0;
  const Strings lines = split(text, '\n');
  for (size_t s = 0; s < lines.size(); ++s) {
    Strings words = split(lines[s], ' ');
    words.push_back("</s>");
    for (size_t t = 0; t < words.size(); ++t) {
      if (!knows(whole, words[t])) {
        ++neither;
      } else if (!knows(dict, words[t])) {
        ++only_a;
      } else {
        ++both;
        nats -= c[s][t];
      }
    }
  }
  const Outcome r = run_program("lm_score", {"--compare", model_a(), model_c()}, text);
  CHECK(r.err.find("different words") != std::string::npos);
  const Compared compared = compare(model_a(), model_c(), text);
  CHECK(compared.number("tokens") == static_cast<double>(both));
  CHECK(compared.number("left out", 1) == static_cast<double>(only_a));
  CHECK(compared.number("left out", 2) == 0);
  CHECK(compared.number("left out", 3) == static_cast<double>(neither));
  CHECK(only_a > 0);
  CHECK(neither == 2);
  CHECK(compared.number("perplexity B") ==
        doctest::Approx(std::exp(nats / static_cast<double>(both))).epsilon(1e-5));
}

// A cannot be opened, so that what is said of B was found before.
TEST_CASE("lm_score --compare: a wrong name of B is an error before A is scored") {
  const TemporaryDirectory dir;
  const std::string broken = broken_model(dir);
  const auto says = [&](const Strings& more) {
    Strings arguments{"--compare", broken, dir / "none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_score", arguments, "the cat\n");
    CHECK(r.code == 1);
    return r.err;
  };
  for (const std::string& err : {says({}), says({"--top", "2"})}) {
    CHECK_MESSAGE(err.find(dir / "none") != std::string::npos, err);
    CHECK_MESSAGE(err.find(broken) == std::string::npos, err);
  }
}

TEST_CASE(
    "bootstrap_gain: the normal approximation's interval, the same for a seed, exact where "
    "nothing varies") {
  RandomStream random({.seed = 3});
  std::vector<double> gains;
  std::vector<int64_t> counts;
  double mean = 0, squares = 0;
  for (int i = 0; i < 2000; ++i) {
    gains.push_back(random.uniform() * 2 - 0.8);
    counts.push_back(10);
    mean += gains.back() / 10 / 2000;
    squares += gains.back() * gains.back() / 100 / 2000;
  }
  const double error = std::sqrt((squares - mean * mean) / 2000);
  const Interval i = bootstrap_gain(gains, counts, 2000, 1),
                 again = bootstrap_gain(gains, counts, 2000, 1),
                 other = bootstrap_gain(gains, counts, 2000, 2);
  CHECK(i.low == doctest::Approx(mean - 1.96 * error).epsilon(0.03));
  CHECK(i.high == doctest::Approx(mean + 1.96 * error).epsilon(0.03));
  CHECK(i.low == again.low);
  CHECK(i.high == again.high);
  CHECK(i.low != other.low);
  const Interval same =
      bootstrap_gain(std::vector<double>(50, 1.5), std::vector<int64_t>(50, 3), 100, 1);
  CHECK(same.low == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(same.high == doctest::Approx(0.5).epsilon(1e-12));
}

}  // namespace nine::tests::test_lm_compare
