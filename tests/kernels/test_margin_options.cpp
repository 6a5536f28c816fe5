// The options of margins and norms: their texts, the words' norms by their counts, psi over the
// angle.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/options/angle.h"
#include "tests/kernels/margin_oracle.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_margin_options {

using namespace nine::checks;

namespace {

using Real = long double;
constexpr double kPi = std::numbers::pi;

// A text that is no margin or norm, and a part of what is said of it.
struct Refused {
  const char* text;
  const char* part;
};

}  // namespace

TEST_CASE("margins: texts") {
  for (const char* text : {"none", "cos:0", "cos:0.35", "arc:0.001", "arc:3.14", "lsm:1", "lsm:64"})
    CHECK(to_text(margin_from_text(text)) == text);
  const auto error = [](auto&& read, const char* text) { return error_of([&] { read(text); }); };
  for (const Refused& bad : std::initializer_list<Refused>{{"cos:-1", "at least 0"},
                                                           {"arc:3.1416", "below pi"},
                                                           {"lsm:0", "from 1 to 64"},
                                                           {"lsm:65", "from 1 to 64"},
                                                           {"lsm:2.5", "from 1 to 64"},
                                                           {"arc", "not a number"},
                                                           {"cos:", "not a number"},
                                                           {"cos:1x", "not a number"},
                                                           {"cos:inf", "not a number"},
                                                           {"none:1", "not a number"},
                                                           {"arcc:1", "did you mean arc"}}) {
    CAPTURE(bad.text);
    CHECK(has(error(margin_from_text, bad.text), bad.part));
    CHECK(has(error(margin_from_text, bad.text), "arc:M") !=
          (has(bad.part, "at least") || has(bad.part, "pi") || has(bad.part, "64")));
  }
  for (const char* text : kWordNorms) CHECK(to_text(word_norm_from_text(text)) == text);
  for (const char* text : kContextNorms) CHECK(to_text(context_norm_from_text(text)) == text);
  const auto check_refused = [&](auto&& read, std::initializer_list<Refused> texts) {
    for (const Refused& bad : texts) {
      CAPTURE(bad.text);
      CHECK(has(error(read, bad.text), bad.part));
    }
  };
  check_refused(word_norm_from_text, {{"const:0", "above 0"},
                                      {"const:-1", "above 0"},
                                      {"const:x", "not a number"},
                                      {"unigram", "unigram:A,B"},
                                      {"unigram:1", "unigram:A,B"},
                                      {"unigram:0,0", "one of them above 0"},
                                      {"unigram:-1,2", "at least 0"},
                                      {"log-unigram:through", "leave it out"},
                                      {"const:1:through", "leave it out"},
                                      {"none:through", "leave it out"},
                                      {"unifrom", "did you mean uniform"}});
  check_refused(context_norm_from_text, {{"const:0", "above 0"},
                                         {"const:64:through", "leave it out"},
                                         {"max:emma", "did you mean max:ema"}});
}

TEST_CASE("margins: norms of words by their counts") {
  const std::vector<double> counts{2, 8, 0, 8, 1};  // ranks: words 1, 3, 0, 4, 2
  const auto ratios = [&](const char* text) {
    return word_norm_ratios(word_norm_from_text(text), counts);
  };
  CHECK(most_frequent_word(counts) == 1);
  CHECK(ratios("uniform") == std::vector<double>(5, 1));
  CHECK(ratios("const:3") == std::vector<double>(5, 3));
  const double five = std::log(5.0);
  CHECK(relative_error(ratios("log-rank"), Doubles{std::log(3) / five, 1, 0, std::log(4) / five,
                                                   std::log(2) / five}) < 1e-15);
  CHECK(relative_error(ratios("log-rank:ratio"),
                       Doubles{1 - std::log(3) / five, 1, 0, 1 - std::log(2) / five,
                               1 - std::log(4) / five}) < 1e-15);
  CHECK(relative_error(ratios("unigram:10,1"), Doubles{2, 5, 1.5, 5, 1.5}) < 1e-15);
  CHECK(relative_error(ratios("log-unigram"),
                       Doubles{std::log(2), std::log(8), 0, std::log(8), 0}) < 1e-15);
  CHECK(relative_error(ratios("log-unigram:scaled"), Doubles{1 / 3.0, 1, 0, 1, 0}) < 1e-15);
  for (const char* text : {"log-rank", "log-rank:ratio", "log-unigram:scaled"}) {
    CHECK(word_norm_ratios(word_norm_from_text(text), std::vector<double>{1}) == Doubles{1});
  }
  CHECK(has(error_of([] { word_norm_ratios(word_norm_from_text("uniform"), {}); }), "counts"));
}

TEST_CASE("margins: psi by recurrence is psi by the angle, with its slope") {
  for (const char* text : {"cos:0.3", "arc:0.7", "arc:3", "lsm:1", "lsm:2", "lsm:3", "lsm:64"}) {
    CAPTURE(text);
    const Margin margin = margin_from_text(text);
    for (int i = 0; i < 314; ++i) {
      const double theta = 0.005 + 0.01 * i;
      if (margin.kind == Margin::Kind::arc && std::abs(theta - (kPi - margin.size)) < 1e-3)
        continue;
      const double c = std::cos(theta), s = std::sin(theta), e = 1e-6;
      const scores::AngleScore psi = scores::margin_at(margin, c, s);
      CHECK(std::abs(psi.value - static_cast<double>(psi_of(margin, c))) < 1e-12 * 64);
      const double up = std::cos(theta + e), down = std::cos(theta - e),
                   slope = static_cast<double>((psi_of(margin, up) - psi_of(margin, down)) /
                                               (static_cast<Real>(up) - static_cast<Real>(down)));
      CHECK(std::abs(psi.slope - slope) < 1e-5 * (1 + std::abs(slope)) * margin.size + 1e-6);
    }
  }
  const Margin two = margin_from_text("lsm:2");
  for (const double c : {-1.0, -0.5, 0.0, 0.25, 1.0}) {
    const scores::AngleScore psi = scores::margin_at(two, c, std::sqrt(1 - c * c));
    CHECK(psi.value == doctest::Approx(2 * c * std::abs(c) - 1).epsilon(1e-15));
    CHECK(psi.slope == doctest::Approx(4 * std::abs(c)).epsilon(1e-15));
  }
  // arc jumps upwards from kArcJumpsUp on.
  for (const double m : {kArcJumpsUp - 1e-6, kArcJumpsUp + 1e-6}) {
    const Margin arc{Margin::Kind::arc, m};
    const auto at = [&](double theta) {
      return scores::margin_at(arc, std::cos(theta), std::sin(theta)).value;
    };
    CHECK((at(kPi - m + 1e-12) > at(kPi - m - 1e-12)) == (m > kArcJumpsUp));
  }
}

}  // namespace nine::tests::test_margin_options
