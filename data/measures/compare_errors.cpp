#include "data/measures/compare_errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "data/measures/significance.h"

namespace nine {
namespace {

double deviation(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / std::max(1.0, n - 1));
}

}  // namespace

ErrorComparison compare_errors(std::span<const UtteranceErrors> utterances,
                               std::span<const size_t> groups, const BootstrapOptions& options) {
  require(groups.size() == utterances.size() && !groups.empty(), "[compare_errors] ", groups.size(),
          " groups for ", utterances.size(),
          " utterances: needs at least one utterance, and a group for each");
  ErrorComparison c;
  const size_t count = *std::max_element(groups.begin(), groups.end()) + 1;
  c.groups = static_cast<int64_t>(count);
  std::vector<double> a(count), b(count), difference(count), words(count);
  std::vector<ErrorSegment> segments;
  for (size_t i = 0; i < utterances.size(); ++i) {
    const WordErrors own_a = count_errors(utterances[i].a), own_b = count_errors(utterances[i].b);
    c.a += own_a;
    c.b += own_b;
    a[groups[i]] += 100.0 * static_cast<double>(own_a.errors());
    b[groups[i]] += 100.0 * static_cast<double>(own_b.errors());
    words[groups[i]] += static_cast<double>(own_a.words());
    append_segments(utterances[i].a, utterances[i].b, segments);
  }
  require(c.a.words() > 0, "[compare_errors] the references have no words");
  require(count >= 2 || groups.size() == 1, kOneGroup);
  c.difference = c.b.rate() - c.a.rate();
  c.groups_with_words = std::ranges::count_if(words, [](double n) { return n > 0; });
  if (c.has_draws()) {
    for (size_t g = 0; g < count; ++g) difference[g] = b[g] - a[g];
    c.rate_a = percentile_interval(bootstrap_ratios(a, words, options));
    c.rate_b = percentile_interval(bootstrap_ratios(b, words, options));
    const std::vector<double> draws = bootstrap_ratios(difference, words, options, &c.drawn_again);
    c.difference_95 = percentile_interval(draws);
    c.difference_90 = percentile_interval(draws, 0.9);
    c.standard_error = deviation(draws);
    c.decidable = equivalence_margin(c.standard_error);
  }
  c.mapsswe = mapsswe(segments);
  const auto all = static_cast<double>(c.a.words());
  for (const ErrorSegment& s : segments)
    c.discordance +=
        static_cast<double>((s.errors_a - s.errors_b) * (s.errors_a - s.errors_b)) / all;
  c.decidable_independent = equivalence_margin(100 * std::sqrt(c.discordance / all));
  return c;
}

}  // namespace nine
