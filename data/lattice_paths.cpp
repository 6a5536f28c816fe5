#include "data/lattice_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

#include "core/error.h"
#include "core/quote.h"

namespace nine {
namespace {

constexpr double kNoWay = -std::numeric_limits<double>::infinity();

// The best path of a prefix to a node.
struct Reached {
  double score = kNoWay, acoustic = 0, language = 0;
};
using ReachedNodes = std::map<int32_t, Reached>;

// A prefix of word sequences, or a whole sequence.
struct Prefix {
  int64_t before;  // the prefix without the last word; -1: none
  int32_t word;    // -1: the empty prefix, or the end of a sequence
  bool whole;
  ReachedNodes nodes;  // of a whole sequence: its best path alone
};

void improve(ReachedNodes& nodes, int32_t node, const Reached& way) {
  Reached& best = nodes[node];
  if (way.score > best.score) best = way;
}

Reached along(const Reached& way, const LatticeLink& link, const LatticeScales& scales) {
  return {way.score + Lattice::score(link, scales), way.acoustic + link.acoustic,
          way.language + link.language};
}

}  // namespace

std::string text_of(const Lattice& lattice, std::span<const int32_t> words) {
  std::string text;
  for (const int32_t word : words)
    text.append(text.empty() ? "" : " ").append(lattice.words.text(word));
  return text;
}

std::vector<double> best_completions(const Lattice& lattice, const LatticeScales& scales) {
  std::vector<double> best(static_cast<size_t>(lattice.nodes), kNoWay);
  for (const LatticeLink& end : lattice.ends)
    best[static_cast<size_t>(end.from)] = Lattice::score(end, scales);
  std::for_each(lattice.links.rbegin(), lattice.links.rend(), [&](const LatticeLink& link) {
    double& own = best[static_cast<size_t>(link.from)];
    own = std::max(own, Lattice::score(link, scales) + best[static_cast<size_t>(link.to)]);
  });
  require(std::isfinite(best[0]), "the lattice of ", quote(lattice.utterance),
          " has scores that add up to more than a number holds");
  return best;
}

std::vector<LatticePath> n_best_paths(const Lattice& lattice, const LatticeScales& scales,
                                      int64_t count) {
  require(count >= 1, "[n_best_paths] ", count, " paths: needs at least one");
  const std::vector<double> completion = best_completions(lattice, scales);
  std::vector<Prefix> prefixes;
  using Waiting = std::pair<double, int64_t>;  // score, and the prefix with the sign changed
  std::priority_queue<Waiting> waiting;
  const auto add = [&](Prefix prefix) {
    double score = kNoWay;
    for (const auto& node : prefix.nodes)
      score = std::max(
          score, prefix.whole ? node.second.score
                              : node.second.score + completion[static_cast<size_t>(node.first)]);
    waiting.emplace(score, -std::ssize(prefixes));
    prefixes.push_back(std::move(prefix));
  };
  add({-1, -1, false, {{0, {.score = 0}}}});
  std::vector<LatticePath> paths;
  while (!waiting.empty() && std::ssize(paths) < count) {
    const int64_t own = -waiting.top().second;
    waiting.pop();
    ReachedNodes nodes = std::move(prefixes[static_cast<size_t>(own)].nodes);
    if (prefixes[static_cast<size_t>(own)].whole) {
      const Reached& way = nodes.begin()->second;
      LatticePath path{
          .words = {}, .acoustic = way.acoustic, .language = way.language, .score = way.score};
      for (int64_t p = prefixes[static_cast<size_t>(own)].before; p >= 0;
           p = prefixes[static_cast<size_t>(p)].before)
        if (const int32_t word = prefixes[static_cast<size_t>(p)].word; word >= 0)
          path.words.push_back(word);
      std::reverse(path.words.begin(), path.words.end());
      paths.push_back(std::move(path));
      continue;
    }
    // Links without a word lead to later nodes of the same prefix, so that the walk meets each node
    // after all ways to it.
    std::map<int32_t, ReachedNodes> by_word;
    Reached end;
    for (auto node = nodes.begin(); node != nodes.end(); ++node) {
      for (size_t l = lattice.first_link(node->first);
           l < lattice.links.size() && lattice.links[l].from == node->first; ++l) {
        const LatticeLink& link = lattice.links[l];
        improve(link.word < 0 ? nodes : by_word[link.word], link.to,
                along(node->second, link, scales));
      }
      const auto ending =
          std::lower_bound(lattice.ends.begin(), lattice.ends.end(), node->first,
                           [](const LatticeLink& e, int32_t n) { return e.from < n; });
      if (ending != lattice.ends.end() && ending->from == node->first)
        if (const Reached way = along(node->second, *ending, scales); way.score > end.score)
          end = way;
    }
    if (end.score > kNoWay) add({own, -1, true, {{0, end}}});
    for (auto& next : by_word) add({own, next.first, false, std::move(next.second)});
  }
  return paths;
}

std::vector<NBestList> n_best_lists(std::span<const Lattice> lattices, int64_t count,
                                    bool allow_empty) {
  std::vector<NBestList> lists;
  for (const Lattice& lattice : lattices) {
    NBestList list{.utterance = lattice.utterance, .hypotheses = {}};
    // One more, in the place of the sequence without words.
    for (const LatticePath& path : n_best_paths(lattice, lattice.scales, count + 1))
      if (std::ssize(list.hypotheses) < count && (allow_empty || !path.words.empty()))
        list.hypotheses.push_back({path.score, text_of(lattice, path.words)});
    require(!list.hypotheses.empty(), "the lattice of ", quote(lattice.utterance),
            " has no path with words; give --allow-empty if this is silence");
    lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace nine
