#include "kernels/options/sampled_softmax.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine {
namespace {

constexpr std::pair<SampledSoftmax::Proposal, const char*> kProposals[] = {
    {SampledSoftmax::Proposal::log_uniform, "log-uniform"},
    {SampledSoftmax::Proposal::unigram, "unigram"},
    {SampledSoftmax::Proposal::unigram_power, "unigram^0.75"}};
constexpr double kPower = 0.75;
// The most draws: per word, and at least this total.
constexpr uint64_t kDrawsPerWord = 1000, kDrawsAtLeast = uint64_t{1} << 22;

}  // namespace

std::string to_text(const SampledSoftmax& s) {
  if (!s) return {};
  for (const auto& [proposal, name] : kProposals)
    if (proposal == s.proposal) return concat(s.size, ":", name);
  fail("[sampled softmax] a proposal without a name");
}

SampledSoftmax sampled_softmax_from_text(std::string_view text) {
  constexpr const char* kForm = "K, K:log-uniform, K:unigram or K:unigram^0.75";
  SampledSoftmax s;
  if (text.empty()) return s;
  const size_t colon = text.find(':');
  const std::string_view number = text.substr(0, colon);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), s.size);
  if (error != std::errc{} || end != number.data() + number.size() || s.size < 1)
    throw UsageError(concat("sampled softmax ", quote(text), ": ", quote(number),
                            " must be a whole number above 0; write ", kForm));
  if (colon == std::string_view::npos) return s;
  const std::string_view name = text.substr(colon + 1);
  for (const auto& [proposal, known] : kProposals)
    if (name == known) {
      s.proposal = proposal;
      return s;
    }
  throw UsageError(concat("sampled softmax ", quote(text), ": no distribution is called ",
                          quote(name), "; write ", kForm,
                          did_you_mean(name, {"log-uniform", "unigram", "unigram^0.75"})));
}

WordSampler::WordSampler(const SampledSoftmax& config, std::span<const double> counts)
    : config_(config), by_rank_(counts.size()), q_(counts.size()) {
  const auto words = static_cast<int64_t>(counts.size());
  require(config.size <= words, "sampled softmax ", to_text(config), " draws more than the ", words,
          " words of the vocabulary; draw at most ", words);
  std::iota(by_rank_.begin(), by_rank_.end(), 0);
  std::stable_sort(by_rank_.begin(), by_rank_.end(), [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  const bool log_uniform = config.proposal == SampledSoftmax::Proposal::log_uniform;
  double all = 0;
  for (size_t i = 0; i < by_rank_.size(); ++i) {
    const double rank = static_cast<double>(i) + 1,
                 count = std::max(1.0, counts[static_cast<size_t>(by_rank_[i])]);
    double& q = q_[static_cast<size_t>(by_rank_[i])];
    q = log_uniform                                            ? std::log1p(1 / rank)
        : config.proposal == SampledSoftmax::Proposal::unigram ? count
                                                               : std::pow(count, kPower);
    all += q;
    if (!log_uniform) cumulative_.push_back(all);
  }
  require(std::isfinite(all), "the counts of words add up to more than a double holds");
  for (double& q : q_) q /= all;
}

int32_t WordSampler::draw(const RandomKey& key, uint64_t index) const {
  const double u = (static_cast<double>(random_bits(key, index)) + 0.5) * 0x1p-32;
  size_t rank = 0;  // from 0
  if (cumulative_.empty()) {
    // The ranks up to r have the probability log(r + 1) / log(V + 1) together.
    const double x = std::exp(u * std::log(static_cast<double>(by_rank_.size()) + 1));
    rank = static_cast<size_t>(std::max(0.0, std::floor(x) - 1));
  } else {
    const auto found =
        std::upper_bound(cumulative_.begin(), cumulative_.end(), u * cumulative_.back());
    rank = static_cast<size_t>(found - cumulative_.begin());
  }
  return by_rank_[std::min(rank, by_rank_.size() - 1)];
}

SampledWords WordSampler::sample(const RandomKey& key, std::span<const int32_t> targets,
                                 int64_t also) const {
  enum : uint8_t { kAbsent, kWanted, kDrawn };
  const auto size = static_cast<size_t>(config_.size);
  std::vector<uint8_t> state(q_.size(), kAbsent);
  uint64_t draws = 0;
  if (size == q_.size()) {
    std::fill(state.begin(), state.end(), kDrawn);
  } else {
    const uint64_t most = std::max(kDrawsAtLeast, kDrawsPerWord * size);
    for (size_t distinct = 0; distinct < size; ++draws) {
      require(draws < most, "[sampled softmax] ", most, " draws have only ", distinct,
              " different words, not ", size,
              ": nearly all of the probability is on these words; draw fewer words, or use "
              "log-uniform");
      uint8_t& s = state[static_cast<size_t>(draw(key, draws))];
      distinct += s == kAbsent;
      s = kDrawn;
    }
  }
  const auto want = [&](int64_t v) {
    require(v < std::ssize(state), "[sampled softmax] target ", v,
            " is outside of the vocabulary of ", state.size());
    if (v >= 0 && state[static_cast<size_t>(v)] == kAbsent) state[static_cast<size_t>(v)] = kWanted;
  };
  for (const int32_t y : targets) want(y);
  want(also);
  SampledWords out;
  std::vector<int32_t> place(state.size(), -1);
  for (size_t v = 0; v < state.size(); ++v) {
    if (state[v] == kAbsent) continue;
    place[v] = static_cast<int32_t>(out.words.size());
    out.words.push_back(static_cast<int32_t>(v));
    out.drawn.push_back(state[v] == kDrawn);
    const double expected =
        draws == 0 ? 1 : -std::expm1(static_cast<double>(draws) * std::log1p(-q_[v]));
    out.log_weights.push_back(-std::log(expected));
  }
  for (const int32_t y : targets) out.targets.push_back(y < 0 ? -1 : place[static_cast<size_t>(y)]);
  return out;
}

}  // namespace nine
