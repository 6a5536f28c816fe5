#include "apps/cli/sampling_options.h"

#include "apps/cli/option_conflicts.h"
#include "core/error.h"

namespace nine::app {

void declare_sampling(Options& options, SamplingOptions& sampling) {
  options
      .add(
          "temperature", sampling.temperature,
          "divide log-probabilities by X before a word is drawn; 0: always take the likeliest word")
      .at_least(0);
  options
      .add("top-k", sampling.top_k, "draw from this many of the likeliest words; 0: from all words")
      .at_least(0)
      .unit("words");
  options
      .add("top-p", sampling.top_p,
           "draw from the likeliest words that together have this probability; 1: from all words")
      .range(0, 1);
}

void check_sampling(const Options& given, const SamplingOptions& sampling, int64_t samples,
                    std::string_view texts) {
  if (sampling.temperature > 0) return;
  refuse_idle_flags(given,
                    {{"top-k", false, "--temperature above 0; at 0 the likeliest word is taken"},
                     {"top-p", false, "--temperature above 0; at 0 the likeliest word is taken"},
                     {"seed", false, "--temperature above 0; at 0 nothing is drawn"}});
  require_usage(samples <= 1, "--temperature 0 always takes the likeliest word, so all ", samples,
                ' ', texts, " would be the same: leave out --samples");
}

}  // namespace nine::app
