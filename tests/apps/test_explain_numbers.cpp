// explain_page.h with a caller's own numbers: the results are those of the formulas, and sizes that
// fit no page are refused.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "apps/inspect/explain_page.h"
#include "core/error.h"
#include "tests/support/support.h"

namespace nine::tests::test_explain_numbers {
namespace {

using app::ExampleNumbers;
using Vector = std::vector<double>;
using ScoreOf = std::function<double(const Vector&, const Vector&)>;

double lin(const Vector& w, const Vector& h) {
  double z = 0;
  for (size_t i = 0; i < h.size(); ++i) z += w[i] * h[i];
  return z;
}
double log_distance(const Vector& w, const Vector& h) {
  double q = 0;
  for (size_t i = 0; i < h.size(); ++i) q += (w[i] - h[i]) * (w[i] - h[i]);
  return -std::log(1 + q);
}

double loss(const ScoreOf& score, const ExampleNumbers& x) {
  double sum = 0;
  for (const Vector& w : x.w) sum += std::exp(score(w, x.h));
  return std::log(sum) - score(x.w[static_cast<size_t>(x.target)], x.h);
}
// By central differences.
Vector slope(const ScoreOf& score, ExampleNumbers x) {
  constexpr double kStep = 1e-5;
  Vector out;
  for (size_t i = 0; i < x.h.size(); ++i) {
    const double middle = x.h[i];
    x.h[i] = middle + kStep;
    const double up = loss(score, x);
    x.h[i] = middle - kStep;
    out.push_back((up - loss(score, x)) / (2 * kStep));
    x.h[i] = middle;
  }
  return out;
}

Vector result(const std::vector<app::ExampleResult>& all, const std::string& symbol) {
  for (const app::ExampleResult& r : all)
    if (r.symbol == symbol) return r.numbers;
  FAIL("no result ", symbol);
  return {};
}

// `words` vectors of `size` numbers, some with short forms and some without.
ExampleNumbers numbers(int64_t words, int64_t size, int64_t target) {
  ExampleNumbers x{.target = target};
  for (int64_t i = 0; i < size; ++i) x.h.push_back(i % 2 == 0 ? 1.0 / 3 : 0.123456789 * double(i));
  for (int64_t v = 0; v < words; ++v) {
    x.w.emplace_back();
    for (int64_t i = 0; i < size; ++i) x.w.back().push_back(std::sin(double(3 * v + i)));
  }
  return x;
}

}  // namespace

TEST_CASE("explain: own numbers of any size that fits, with any target") {
  for (const auto& [words, size, target] :
       {std::tuple(3, 2, 0), std::tuple(5, 4, 3), std::tuple(8, 8, 7), std::tuple(1, 1, 0)})
    for (const auto& [name, score] :
         {std::pair<std::string, ScoreOf>("lin", lin), {"log", log_distance}}) {
      const std::string which = concat(name, ", words: ", words);
      CAPTURE(which);
      const ExampleNumbers x = numbers(words, size, target);
      const auto all = app::example_results(name, x);
      CHECK(result(all, "L")[0] == doctest::Approx(loss(score, x)).epsilon(1e-12));
      const Vector dh = result(all, "dL/dh"), expected = slope(score, x);
      REQUIRE(dh.size() == expected.size());
      for (size_t i = 0; i < dh.size(); ++i)
        CHECK(dh[i] == doctest::Approx(expected[i]).epsilon(1e-7));
      CHECK(has(app::explain_text(name, x), concat("word ", target + 1, " was right")));
    }
}

TEST_CASE("explain: the page of own numbers has no plane, the usual page has one") {
  const std::string own = app::explain_page("log", numbers(4, 3, 1)),
                    usual = app::explain_page("log");
  CHECK(has(usual, "id=\"board\""));
  CHECK(!has(own, "id=\"board\""));
  CHECK(has(own, "nine.explain log"));
  CHECK(has(own, "four words"));
}

TEST_CASE("explain: a mixture of equal components is its component") {
  ExampleNumbers x = numbers(4, 2, 2);
  const double expected = result(app::example_results("lin", x), "L")[0];
  x.prior = {{0.5, 1}, {-1, 2}};
  // The context tanh(C h) of C = 0 is 0, and then all words have the same probability.
  x.context = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  const double even = result(app::example_results("mix:2*lin", x), "L")[0];
  CHECK(even == doctest::Approx(std::log(4)).epsilon(1e-12));
  CHECK(expected != doctest::Approx(even));
}

TEST_CASE("explain: own numbers that are refused") {
  const auto refused = [](const std::string& name, const ExampleNumbers& x,
                          const std::string& part) {
    try {
      app::explain_text(name, x);
      FAIL("no error: ", part);
    } catch (const UsageError& e) {
      CHECK_MESSAGE(has(e.what(), part), e.what());
    }
  };
  refused("lin", numbers(9, 2, 0), "1 to 8 words");
  refused("lin", numbers(3, 9, 0), "at most 8 numbers");
  refused("lin", numbers(3, 2, 3), "the target 3 is outside of the 3 words");
  refused("softmax", numbers(3, 2, 0), "softmax is no head of kernels");
  refused("margin=cos:0.3", numbers(3, 2, 0), "no head of kernels");
  refused("mix:2*lin", numbers(3, 2, 0), "the prior has 0 rows, and 2 were expected");
  ExampleNumbers x = numbers(3, 2, 0);
  x.w[1].push_back(1);
  refused("lin", x, "a row of w has 3 numbers");
  x.w[1] = {1, std::nan("")};
  refused("lin", x, "not finite");
}

}  // namespace nine::tests::test_explain_numbers
