// lm_rescore: chooses among a recogniser's or a translation system's n-best hypotheses, or the best
// paths of a recogniser's lattices, with language models; counts word errors, tests differences.
// Parses and calls; the parts are in apps/lm_rescore/.
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/number_format.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/lm_rescore/choose.h"
#include "apps/lm_rescore/rescore_lattices.h"
#include "apps/lm_rescore/rescore_report.h"
#include "apps/lm_rescore/warn_of_lists.h"

namespace nine::app {
namespace {

int run(const RescoreOptions& o, Device device) {
  if (!o.lattices.empty()) {
    rescore_lattices(o, device);
    return kExitDone;
  }
  require_own_results(o);
  // All files are read before anything is scored: a wrong one is an error now.
  RescoredLists tuning, lists = read_lists(o, o.nbest, o.reference);
  if (o.tunes()) tuning = read_lists(o, o.tune_nbest, o.tune_reference);
  add_ngram_scores(o, o.tunes() ? std::vector{&lists, &tuning} : std::vector{&lists});
  if (o.tunes()) require_same_scores(tuning, lists);
  warn_of_lists(o, lists, o.tunes() ? &tuning : nullptr);
  const Comparison comparison = read_comparison(o, lists);
  RescoringWeights weights{o.lambda, o.mu, o.first()};
  if (o.tunes()) {
    score_lists(o, tuning, device);
    weights = tuned_weights(o, tuning);
    tuning.scores = scored_lists(tuning.lists, tuning.model.log_p, weights.first);
  }
  score_lists(o, lists, device);
  lists.scores = scored_lists(lists.lists, lists.model.log_p, weights.first);
  const auto tokens =
      static_cast<double>(lists.model.tokens * static_cast<int64_t>(o.checkpoint.size()));
  std::fprintf(
      stderr, "%lld hypotheses, %lld of them different, %lld tokens: %s tokens/s\n",
      static_cast<long long>(lists.hypotheses()), static_cast<long long>(lists.model.distinct),
      static_cast<long long>(lists.model.tokens), short_rate(tokens / lists.seconds).c_str());
  const PosteriorSettings how = posterior_settings(o, weights, o.tunes() ? &tuning : nullptr);
  const Choices choices = choose(o, lists, weights, how);
  write_n_best(o, lists, choices);
  report_rescoring(o, lists, comparison, choices);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options(
      "lm_rescore",
      "Chooses hypotheses of n-best lists with language models, and counts word errors.",
      version_text);
  RescoreOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({.threads = o.threads, .device = o.device, .precision = o.precision},
                      [&](nine::Device device) { return run(o, device); });
  });
}
