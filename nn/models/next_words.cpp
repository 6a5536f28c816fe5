#include "nn/models/next_words.h"

#include <algorithm>
#include <numeric>

namespace nine {

NextWords::NextWords(const DecodingHead& head, const SamplingOptions& options)
    : head_(head), options_(options), few_(options.temperature == 0 || options.top_k > 0) {}

void NextWords::predict(DecodingHead::Contexts contexts, int32_t excluded) {
  if (!few_) return head_.all_log_probs(contexts, excluded, memory_, log_p_);
  // One word more, because <unk> may be among them.
  const int64_t wanted = options_.temperature == 0 ? 1 : options_.top_k;
  k_ = std::min(wanted + !options_.allow_unknown, head_.words() - (excluded >= 0));
  head_.best_words(contexts, k_, excluded, memory_, best_);
}

NextWords::Chosen NextWords::choose(int64_t row, double uniform) const {
  const auto size = static_cast<size_t>(few_ ? k_ : head_.words());
  const size_t first = static_cast<size_t>(row) * size;
  if (!few_) {
    const std::span log_p(log_p_.data() + first, size);
    const int32_t word = choose_word(log_p, options_, uniform);
    return {word, log_p[static_cast<size_t>(word)]};
  }
  // The likeliest words in the order of their ids, as choose_word() sees words.
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), first);
  std::erase_if(order, [&](size_t i) {
    return !options_.allow_unknown && best_.words[i] == options_.unknown;
  });
  if (options_.temperature > 0)
    order.resize(std::min(order.size(), static_cast<size_t>(options_.top_k)));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return best_.words[a] < best_.words[b]; });
  std::vector<double> log_p;
  for (const size_t i : order) log_p.push_back(best_.log_probs[i]);
  SamplingOptions rest = options_;
  rest.allow_unknown = true;
  rest.top_k = 0;
  const size_t chosen = order[static_cast<size_t>(choose_word(log_p, rest, uniform))];
  return {best_.words[chosen], best_.log_probs[chosen]};
}

}  // namespace nine
