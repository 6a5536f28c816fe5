#include "apps/lm_score/score_options.h"

#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "apps/lm_score/write_continuations.h"

namespace nine::app {

void ScoreOptions::declare(Options& o) {
  o.add("checkpoint", checkpoint, "a checkpoint, or a run directory (its best checkpoint)")
      .unit("DIR");
  o.add("input", input, "text, tokenised, one sentence a line; -: standard input").unit("FILE");
  o.add("output", output, "where results go; -: standard output").unit("FILE");
  o.add("batch-tokens", batch_tokens, "positions computed at once")
      .at_least(1)
      .unit("tokens")
      .called("batch tokens");
  add_threads(o, threads);
  add_device(o, device);
  o.add("seed", seed, "of --generate and of --compare's resamples");

  o.group("Scoring: a log-probability (natural) for each line");
  o.add("tokens", tokens,
        "one number for each word and the end of sentence, in place of the sentence's sum");
  o.add("carry-state", carry_state,
        "carry the state through the text as in validation (10 columns; what fills no row is nan)");
  o.add("margin-correction", margin_correction,
        "undo the cosine margin that a model of lin was trained with, in closed form");
  o.add("components", components,
        "instead, for mixtures: at each token the components' prior and, after ';', their shares "
        "in the token's probability");
  o.add("top", top,
        "instead: each position's word, its probability and rank, and so many likeliest words; 0: "
        "off")
      .at_least(0)
      .unit("words");

  o.group("Continuing each line");
  o.add("generate", generate,
        "continue each line of input, an empty one from the start of a sentence");
  o.add("max-words", max_words,
        "words added to a line at most; the end of the sentence ends it before")
      .range(1, kMostWords)
      .unit("words");
  o.add("samples", samples, "continuations of each line").range(1, kMostSamples);
  o.add("temperature", temperature,
        "log-probabilities are divided by it; 0: always the likeliest word")
      .at_least(0);
  o.add("top-k", top_k, "only so many likeliest words; 0: all").at_least(0).unit("words");
  o.add("top-p", top_p,
        "only the fewest likeliest words that have this share of the probability; 1: all")
      .range(0, 1);
  o.add("allow-unknown", allow_unknown, "<unk> may be generated");
  o.add("batch", batch, "continuations side by side; what comes out does not depend on it")
      .range(1, kMaxGenerateBatch)
      .called("batch size");

  o.group("Comparing two models");
  o.add("compare", compare, "two checkpoints, in place of --checkpoint: B against A, word by word")
      .unit("A B");
  o.add("resamples", resamples, "bootstrap resamples behind the interval").range(100, 1'000'000);
  o.add("worst", worst, "sentences shown in each direction").at_least(0).unit("sentences");
}

void ScoreOptions::check(const Options& options) const {
  const bool comparing = !compare.empty(),
             plain = !generate && top == 0 && !comparing && !components;
  require_usage(
      generate + (top > 0) + comparing + components <= 1,
      "--generate, --top, --components and --compare are different things to do: give one of them");
  require_usage(!comparing || checkpoint.empty(),
                "--compare names both models: leave out --checkpoint");
  require_usage(!comparing || compare.size() == 2,
                "--compare takes two checkpoints, A and B, but got ", compare.size());
  require_usage(comparing || !checkpoint.empty(),
                "no model: give --checkpoint DIR (or --compare A B for two models)");

  std::vector<NamedFile> read{{"--input", input}};
  for (const std::string& model : comparing ? compare : std::vector<std::string>{checkpoint})
    add_model_files(read, "a file of the model", model);
  check_outputs({{"--output", output}}, read);
  only_with(options, generate, "--generate",
            {"max_words", "samples", "temperature", "top_k", "top_p", "allow_unknown", "batch"});
  only_with(options, comparing, "--compare", {"resamples", "worst"});
  only_with(options, generate || comparing, "--generate and --compare", {"seed"});
  only_with(options, plain, "plain scoring, without --generate, --top, --components or --compare",
            {"tokens", "margin_correction"});
  require_usage(!margin_correction || !carry_state,
                "--margin-correction scores each line afresh; leave out --carry-state");
  only_with(options, plain || comparing,
            "plain scoring and --compare; the others start each line afresh", {"carry_state"});
  only_with(options, !generate, "scoring, --top and --compare, while --generate has --batch",
            {"batch_tokens"});
  if (generate && temperature == 0)
    refuse_idle_flags(options,
                      {{"top-k", false, "--temperature above 0; at 0 the likeliest word is taken"},
                       {"top-p", false, "--temperature above 0; at 0 the likeliest word is taken"},
                       {"seed", false, "--temperature above 0; at 0 nothing is drawn"}});
  require_usage(samples == 1 || temperature > 0,
                "--temperature 0 always takes the likeliest word, so all ", samples,
                " continuations would be the same: leave out --samples");
}

}  // namespace nine::app
