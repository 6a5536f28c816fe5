#include "nn/models/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "core/row_loops.h"
#include "core/scratch.h"

namespace nine {

int32_t choose_word(std::span<const double> log_p, const SamplingOptions& s, double uniform) {
  const int64_t all = std::ssize(log_p);
  require(all > (s.allow_unknown ? 0 : std::max(s.unknown, 1)),
          "[choose_word] there is no word to choose from");
  const cpu::RowLoops<double>& loops = cpu::row_loops<double>();
  // A word's share before division by the sum of shares. Scratch memory is kept between calls.
  double* const share = scratch<double>(Scratch::reduction, all);
  std::copy(log_p.begin(), log_p.end(), share);
  if (!s.allow_unknown) share[s.unknown] = -INFINITY;
  const double top = loops.largest(share, all);
  require(top > -INFINITY, kNoWordMayFollow);
  const auto best = static_cast<int32_t>(std::find(share, share + all, top) - share);
  if (s.temperature == 0) return best;
  for (int64_t v = 0; v < all; ++v) share[v] = (share[v] - top) / s.temperature;
  double total = loops.exponents(share, all, 0, true);

  // The words to choose among, unless these are all.
  const bool some = s.top_k > 0 || s.top_p < 1;
  std::vector<int32_t> words;
  const auto less_likely = [&](int32_t a, int32_t b) {
    const double x = log_p[static_cast<size_t>(a)], y = log_p[static_cast<size_t>(b)];
    return x != y ? x < y : a > b;
  };
  if (s.top_k > 0) {
    for (int32_t v = 0; v < all; ++v)
      if (s.allow_unknown || v != s.unknown) words.push_back(v);
    if (s.top_k < std::ssize(words)) {
      const auto end = words.begin() + s.top_k;
      std::nth_element(words.begin(), end, words.end(),
                       [&](int32_t v, int32_t w) { return less_likely(w, v); });
      words.erase(end, words.end());
      // Sorts, because nth_element leaves an unspecified order.
      std::sort(words.begin(), words.end());
    }
    total = std::accumulate(words.begin(), words.end(), 0.0,
                            [&](double sum, int32_t v) { return sum + share[v]; });
  }
  if (s.top_p < 1) {
    // Leaves out words so unlikely that the others reach top_p without them: all words below this
    // share together have at most 1 - top_p of the total.
    const double least = std::min(1.0, (1 - s.top_p) * total / static_cast<double>(all));
    std::erase_if(words, [&](int32_t v) { return share[v] < least; });
    for (int32_t v = 0; v < all && s.top_k == 0; ++v)
      if (share[v] >= least) words.push_back(v);
    std::make_heap(words.begin(), words.end(), less_likely);
    auto kept = words.end();  // the likeliest words move to the end, one by one
    double sum = 0;
    do {
      std::pop_heap(words.begin(), kept--, less_likely);
      sum += share[*kept];
    } while (sum < s.top_p * total && kept != words.begin());
    words.erase(words.begin(), kept);
    total = std::accumulate(words.begin(), words.end(), 0.0,
                            [&](double t, int32_t v) { return t + share[v]; });
  }
  double sum = 0;
  const int64_t count = some ? std::ssize(words) : all;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t v = some ? words[static_cast<size_t>(i)] : static_cast<int32_t>(i);
    sum += share[v];
    if (sum > uniform * total) return v;
  }
  return best;  // the end is reached by rounding only
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
