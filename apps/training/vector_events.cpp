#include "apps/training/vector_events.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "core/json.h"

namespace nine::app {
namespace {

// Words by rank, ever fewer of the later ones, so that they lie evenly over the logarithm.
std::vector<size_t> chosen_words(std::span<const int64_t> counts) {
  std::vector<size_t> by_rank(counts.size()), out;
  std::iota(by_rank.begin(), by_rank.end(), size_t{0});
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [&](size_t a, size_t b) { return counts[a] > counts[b]; });
  const auto last = static_cast<double>(by_rank.size() - 1);
  for (int64_t i = 0; i < kLoggedWords; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kLoggedWords - 1);
    const size_t word = by_rank[static_cast<size_t>(std::pow(last + 1, share) - 0.5)];
    if (out.empty() || out.back() != word) out.push_back(word);
  }
  return out;
}

}  // namespace

void log_vectors(const SoftmaxHead& head, std::span<const int64_t> counts, const Checkpoint& best,
                 const Trainer& trainer, RunCallbacks& callbacks,
                 const std::function<void()>& evaluate) {
  HeadStats* stats = head.stats();
  if (stats == nullptr || counts.empty()) return;
  const auto event = [&](const char* name, const Json& keys) {
    Json line{{"event", name},
              {"step", best.step()},
              {"epoch", best.state().value("epochs", trainer.epochs())},
              {"time_s", trainer.seconds()}};
    line.update(keys);
    callbacks.event(line);
  };
  const SoftmaxHead::WordNorms norms = head.word_norms();
  Json words{{"counts", Json::array()}, {"norms", Json::array()}};
  for (const size_t v : chosen_words(counts)) {
    words["counts"].push_back(counts[v]);
    words["norms"].push_back(norms.own[v]);
    if (!norms.given.empty()) words["given"].push_back(norms.given[v]);
  }
  event("word_norms", words);
  if (!evaluate || !head.has_angles()) return;
  stats->count_angles(true);
  evaluate();
  event("target_angles", {{"degrees", 180 / HeadStats::kBins}, {"tokens", stats->angles()}});
  stats->count_angles(false);
}

}  // namespace nine::app
