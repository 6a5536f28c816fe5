#include "apps/lm_rescore/warn_of_costs.h"

#include <algorithm>
#include <cstdio>

namespace nine::app {

void warn_of_costs(const RescoreOptions& o, const RescoredLists& lists) {
  int64_t with_order = 0, reversed = 0;
  for (const NBestList& list : lists.lists) {
    const auto [low, high] =
        std::ranges::minmax(list.hypotheses, {}, [](const NBestHypothesis& h) { return h.score; });
    if (low.score == high.score) continue;
    ++with_order;
    if (list.hypotheses.front().score == low.score) ++reversed;
  }
  if (2 * reversed <= with_order) return;
  std::fprintf(
      stderr,
      "lm_rescore: %s: in %lld of %lld lists the first hypothesis has the worst score; %s\n",
      lists.file.c_str(), static_cast<long long>(reversed), static_cast<long long>(with_order),
      o.nbest_cost ? "if these are not costs, leave out --nbest-cost"
                   : "if these are costs, as in Kaldi, give --nbest-cost");
}

}  // namespace nine::app
