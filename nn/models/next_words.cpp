#include "nn/models/next_words.h"

#include <algorithm>
#include <numeric>

namespace nine {

int64_t words_to_choose_among(const SamplingOptions& options) {
  if (options.temperature > 0 && options.top_k == 0) return 0;
  // One word more, because <unk> may be among them.
  return (options.temperature == 0 ? 1 : options.top_k) + (options.allow_unknown ? 0 : 1);
}

ChosenWord choose_among(std::span<const int32_t> words, std::span<const double> log_p,
                        const SamplingOptions& options, double uniform) {
  // The likeliest words in the order of their ids, as choose_word() sees words.
  std::vector<size_t> order(words.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order,
                [&](size_t i) { return !options.allow_unknown && words[i] == options.unknown; });
  if (options.temperature > 0)
    order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return words[a] < words[b]; });
  std::vector<double> of_order;
  for (const size_t i : order) of_order.push_back(log_p[i]);
  SamplingOptions rest = options;
  rest.allow_unknown = true;
  rest.top_k = 0;
  const size_t chosen = order[static_cast<size_t>(choose_word(of_order, rest, uniform))];
  return {words[chosen], log_p[chosen]};
}

NextWords::NextWords(const DecodingHead& head, const SamplingOptions& options)
    : head_(head), options_(options) {}

void NextWords::predict(DecodingHead::Contexts contexts, int32_t excluded) {
  k_ = std::min(words_to_choose_among(options_), head_.words() - (excluded >= 0));
  if (k_ == 0) return head_.all_log_probs(contexts, excluded, memory_, log_p_);
  head_.best_words(contexts, k_, excluded, memory_, best_);
}

NextWords::Chosen NextWords::choose(int64_t row, double uniform) const {
  const auto size = static_cast<size_t>(k_ > 0 ? k_ : head_.words());
  const size_t first = static_cast<size_t>(row) * size;
  if (k_ == 0) {
    const std::span log_p(log_p_.data() + first, size);
    const int32_t word = choose_word(log_p, options_, uniform);
    return {word, log_p[static_cast<size_t>(word)]};
  }
  return choose_among(std::span(best_.words).subspan(first, size),
                      std::span(best_.log_probs).subspan(first, size), options_, uniform);
}

}  // namespace nine
