#include "nn/models/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace nine {

int32_t choose_word(std::span<const double> log_p, const SamplingOptions& s, double uniform) {
  const auto at = [&](int32_t v) { return log_p[static_cast<size_t>(v)]; };
  const auto less_likely = [&](int32_t a, int32_t b) {
    return at(a) != at(b) ? at(a) < at(b) : a > b;
  };
  require(std::ssize(log_p) > (s.allow_unknown ? 0 : s.unknown),
          "[choose_word] there is no word to choose from");
  std::vector<int32_t> words(log_p.size());
  std::iota(words.begin(), words.end(), 0);
  if (!s.allow_unknown) words.erase(words.begin() + s.unknown);
  const int32_t best = *std::max_element(words.begin(), words.end(), less_likely);
  require(at(best) > -INFINITY, "[choose_word] the model excludes every word that may follow");
  if (s.temperature == 0) return best;

  // Returns a word's share before division by the sum of shares.
  const auto share = [&](int32_t v) { return std::exp((at(v) - at(best)) / s.temperature); };
  if (s.top_k > 0 && s.top_k < static_cast<int64_t>(words.size())) {
    const auto end = words.begin() + s.top_k;
    std::nth_element(words.begin(), end, words.end(),
                     [&](int32_t v, int32_t w) { return less_likely(w, v); });
    words.erase(end, words.end());
    // Sorts, because nth_element leaves an unspecified order.
    std::sort(words.begin(), words.end());
  }
  if (s.top_p < 1) {
    const double enough =
        s.top_p * std::accumulate(words.begin(), words.end(), 0.0,
                                  [&](double sum, int32_t v) { return sum + share(v); });
    std::make_heap(words.begin(), words.end(), less_likely);
    auto kept = words.end();  // the likeliest words move to the end, one by one
    double sum = 0;
    do {
      std::pop_heap(words.begin(), kept--, less_likely);
      sum += share(*kept);
    } while (sum < enough && kept != words.begin());
    words.erase(words.begin(), kept);
  }
  std::vector<double> sums;
  for (const int32_t v : words) sums.push_back((sums.empty() ? 0 : sums.back()) + share(v));
  const auto found = std::upper_bound(sums.begin(), sums.end(), uniform * sums.back());
  return found == sums.end() ? best
                             // The end is reached by rounding only.
                             : words[static_cast<size_t>(found - sums.begin())];
}

double uniform_of(uint64_t seed, int64_t prompt, int64_t sample, size_t position) {
  constexpr uint64_t kPositions = uint64_t{1} << 24;  // numbers reserved for a sample
  constexpr uint64_t kNumbers = 2;                    // 32-bit numbers for each uniform number
  return RandomStream(
             {.seed = seed, .step = static_cast<uint32_t>(prompt), .op = stream_id("generate")},
             kNumbers * (static_cast<uint64_t>(sample) * kPositions + position))
      .uniform();
}

void check(const SamplingOptions& s) {
  require(s.temperature >= 0 && s.top_k >= 0 && s.top_p >= 0 && s.top_p <= 1,
          "[generate_text] temperature ", s.temperature, ", the ", s.top_k,
          " likeliest words, a share of ", s.top_p,
          ": the first two cannot be below 0, the share must be from 0 to 1");
}

}  // namespace nine
