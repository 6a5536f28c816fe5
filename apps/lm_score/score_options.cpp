#include "apps/lm_score/score_options.h"

#include "apps/cli/detokenize_options.h"
#include "apps/cli/line_input.h"
#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "apps/lm_score/lm_mixture.h"
#include "apps/lm_score/write_continuations.h"

namespace nine::app {

void ScoreOptions::declare(Options& o) {
  o.add("checkpoint", checkpoint, "a checkpoint, or a run directory (for its best checkpoint)")
      .unit("DIR");
  o.add("input", input,
        "text, tokenised, one sentence a line, or raw for a model of raw text (lm_train --text); "
        "-: standard input")
      .unit("FILE");
  o.add("output", output, "file for the results; -: standard output").unit("FILE");
  add_flush(o, flush);
  o.add("batch-tokens", batch_tokens, "number of positions computed at once")
      .at_least(1)
      .unit("tokens")
      .called("batch tokens");
  add_max_unknown(o, max_unknown);
  add_threads(o, threads);
  add_device(o, device);
  add_matmul_precision(o, precision);
  add_mpi_timeout(o, mpi_timeout);
  o.add("seed", seed, "seed of --generate, of --resamples and of --clusters N:ppmi");

  o.group("Scoring: the natural log-probability of each line");
  o.add("tokens", tokens,
        "print the log-probability of each word and of the end of sentence instead of their sum");
  o.add("words", words,
        "models of raw text: print a table of words with their places in the line and their "
        "surprisal in bits, which counts that the word ends");
  o.add("carry-state", carry_state,
        "cut the text into 10 columns and carry the model's state through each column, as "
        "validation does");
  o.add("window", window,
        "join the lines, cut them into windows of this many tokens, and read each window from a "
        "fresh state after the one word before it; 0: off")
      .at_least(0)
      .unit("tokens");
  o.add("margin-correction", margin_correction,
        "undo the effect of the cosine margin with which a model with the head lin was trained");
  o.add("components", components,
        "mixtures: instead of scores, print for each token the prior of the components and, after "
        "';', each component's share of the token's probability");
  o.add("top", top,
        "instead of scores, print for each position the word, its probability and rank, and this "
        "many of the likeliest words; 0: off")
      .at_least(0)
      .unit("words");

  o.group("Continuing each line");
  o.add("generate", generate, "continue each line of input; an empty line gives a whole sentence");
  o.add("max-words", max_words,
        "add at most this many words (tokens, for a model of raw text) to a line; a line also ends "
        "when the sentence or document ends")
      .range(1, kMostWords)
      .unit("words");
  o.add("lines", line_count,
        "continue over the ends of lines until a text has this many lines, with as many times "
        "--max-words; for models trained with --order file")
      .range(1, kMostWords);
  o.add("samples", samples, "number of continuations of each line").range(1, kMostSamples);
  declare_sampling(o, sampling);
  o.add("allow-unknown", sampling.allow_unknown, "allow <unk> in continuations");
  declare_detokenize(o, detokenize, "continuations");
  o.add("batch", batch, "number of continuations computed at once; the text does not depend on it")
      .range(1, kMaxGenerateBatch)
      .called("batch size");

  o.group("Comparing two models");
  o.add("compare", compare,
        "compare checkpoint B with checkpoint A, word by word; replaces --checkpoint")
      .unit("A B");
  o.add("at", at, "with --compare and --top: show what both models expected at these words only")
      .unit("LINE:WORD")
      .check([](const std::string& text) { TextPlace::parse(text); });
  o.add("resamples", resamples, "number of bootstrap resamples for each confidence interval")
      .range(100, 1'000'000);
  o.add("worst", worst,
        "number of sentences to show for each model: those with the largest lead over the other "
        "model")
      .at_least(0)
      .unit("sentences");

  o.group("Mixing models: scores under the weighted sum of their probabilities");
  o.add("interpolate", interpolate,
        "models that are mixed, word by word, with --checkpoint, if that is given: checkpoints or "
        "run directories, and files of n-gram models in ARPA format")
      .unit("DIR|FILE...");
  o.add("weights", weights,
        "weights of the models, --checkpoint's first; they add up to 1. By default, all weights "
        "are equal")
      .unit("X...")
      .check(mixture_weight);
  o.add("tune-weights", tune_weights,
        "text on which the weights are tuned by EM; standard error has them as --weights")
      .unit("FILE");

  o.group("Choosing a word from a set: for --checkpoint, or for both models of --compare");
  o.add("restrict", restrict_to,
        "file with one set of words per line; measures how often and how surely a model tells the "
        "words of a set apart")
      .unit("FILE");
  o.add("json", json,
        "with --restrict: print the results as JSON instead of a table; with --generate: print "
        "each text as a JSON object on a line");
  o.add("choices", choices,
        "with --restrict: print one line for each choice, with its line, word and set, instead of "
        "a table");
  o.add("clusters", clusters,
        "instead of scores, write N sets of similar words for --restrict; DISTANCE is inner, "
        "euclidean or cosine (between word vectors) or ppmi (between the words' neighbours in "
        "--cluster-text)")
      .unit("N:DISTANCE")
      .check([](const std::string& text) { ClusterSpec::parse(text); });
  o.add("cluster-text", cluster_text,
        "with ppmi: text in which neighbours are counted, such as the training text")
      .unit("FILE");
  o.add("cluster-size", cluster_size, "number of words in a set").range(2, 1000).unit("words");
  o.add("cluster-min-count", cluster_min_count,
        "use only words that occur at least this often in the training text")
      .at_least(1)
      .unit("times");
}

void ScoreOptions::check(const Options& options) const {
  const bool comparing = !compare.empty(), restricting = !restrict_to.empty(),
             clustering = !clusters.empty(), mixing = !interpolate.empty(), plain = scores();
  require_usage(
      generate + (top > 0 && !comparing) + (comparing || restricting) + components + clustering +
                  mixing <=
              1 &&
          (top == 0 || !restricting),
      "--generate, --top, --components, --compare, --restrict, --clusters and --interpolate are "
      "different tasks: give one of them (--compare also works with --restrict or --top)");
  only_with(options, mixing, "--interpolate", {"weights", "tune_weights"});
  refuse_empty(options, {"interpolate", "tune_weights"});
  if (mixing) check_mixture();
  for (const std::string& place : at) TextPlace::parse(place);
  only_with(options, comparing && top > 0, "--compare with --top", {"at"});
  require_usage(!comparing || checkpoint.empty(),
                "--compare names both models: leave out --checkpoint");
  require_usage(!comparing || compare.size() == 2,
                "--compare takes two checkpoints, A and B, but got ", compare.size());
  require_usage(comparing || mixing || !checkpoint.empty(),
                "no model: give --checkpoint DIR (or --compare A B for two models)");

  std::vector<NamedFile> read{{"--input", clustering ? std::string() : input}};
  for (const std::string& model : comparing ? compare : std::vector<std::string>{checkpoint})
    if (!model.empty()) add_model_files(read, "a file of the model", model);
  for (const std::string& model : interpolate) {
    add_model_files(read, "a file of the model", model);
    read.push_back({"--interpolate", model});
  }
  read.push_back({"--tune-weights", tune_weights});
  read.push_back({"--restrict", restrict_to});
  read.push_back({"--cluster-text", cluster_text});
  check_outputs({{"--output", output}}, read);
  only_with(options, generate, "--generate",
            {"max_words", "lines", "samples", "temperature", "top_k", "top_p", "allow_unknown",
             "batch", "detokenize"});
  only_with(options, (comparing && top == 0) || restricting, "--compare or --restrict",
            {"resamples"});
  const bool word_by_word = comparing && !restricting && top == 0;
  only_with(options, word_by_word, "--compare without --restrict and --top", {"worst"});
  const bool ppmi = clustering && ClusterSpec::parse(clusters).distance == WordDistance::ppmi;
  only_with(options, generate || (comparing && top == 0) || restricting || ppmi,
            "--generate, --compare without --top, --restrict or --clusters N:ppmi, which draw "
            "random numbers",
            {"seed"});
  only_with(options, plain,
            "plain scoring, which is the task of lm_score if no other task is given", {"words"});
  only_with(options, plain || mixing,
            "plain scoring, which is the task of lm_score if no other task is given, or "
            "--interpolate",
            {"tokens", "window", "margin_correction"});
  require_usage(!words || (!tokens && !carry_state && window == 0 && !margin_correction),
                "--words prints words, each line from a fresh state: leave out --tokens, "
                "--carry-state, --window and --margin-correction");
  only_with(options, plain || word_by_word || mixing,
            "plain scoring, --compare or --interpolate; other tasks start each line from a fresh "
            "state",
            {"carry_state"});
  only_with(options, !generate && !clustering,
            "tasks that read a text at once; --generate has --batch, and --clusters reads no text",
            {"batch_tokens"});
  require_usage(window == 0 || !carry_state,
                "--window reads each window from a fresh state, and --carry-state carries the "
                "state: leave one of them out");
  require_usage(!flush || (!carry_state && window == 0),
                "--flush answers each line before the next is read, and --carry-state and --window "
                "cut the whole text: leave one of them out");
  only_with(options, answers_lines(),
            "scoring, --top, --components or --generate; other tasks need the whole text",
            {"flush"});
  only_with(options, restricting, "--restrict", {"choices"});
  only_with(options, restricting || generate, "--restrict or --generate", {"json"});
  require_usage(!json || !choices,
                "--json and --choices are two formats of the output: leave one of them out");
  only_with(options, !choices, "intervals, which --choices does not print", {"resamples", "seed"});
  only_with(options, clustering, "--clusters",
            {"cluster_text", "cluster_size", "cluster_min_count"});
  only_with(options, !clustering,
            "tasks that read a text from --input; --clusters reads --cluster-text",
            {"input", "max_unknown"});
  require_usage(
      !ppmi || !cluster_text.empty(),
      "--clusters N:ppmi counts neighbours in a text: give the text as --cluster-text FILE");
  require_usage(!clustering || ppmi || cluster_text.empty(),
                "--cluster-text is for --clusters N:ppmi; the other distances use word vectors");
  check_detokenize(options, detokenize);
  if (generate) check_sampling(options, sampling, samples, "continuations");
}

bool ScoreOptions::scores() const {
  return !generate && top == 0 && !components && compare.empty() && restrict_to.empty() &&
         clusters.empty() && interpolate.empty();
}

bool ScoreOptions::answers_lines() const {
  return (scores() && !carry_state && window == 0) || generate || components ||
         (top > 0 && compare.empty());
}

std::vector<std::string> ScoreOptions::mixed_models() const {
  std::vector<std::string> models = interpolate;
  if (!checkpoint.empty()) models.insert(models.begin(), checkpoint);
  return models;
}

void ScoreOptions::check_mixture() const {
  const std::vector<std::string> models = mixed_models();
  refuse_same_models("--interpolate", models);
  for (size_t a = 0; a < models.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      require_usage(!same_file(models[a], models[b]), "--interpolate ", models[a],
                    " is named twice, and the model would count twice: leave one of them out");
  require_usage(weights.empty() || tune_weights.empty(),
                "--tune-weights tunes --weights: leave one of them out");
  require_usage(models.size() > 1 || (weights.empty() && tune_weights.empty()),
                "--weights and --tune-weights are for several models, but there is only one model");
  static_cast<void>(read_mixture_weights(weights, models.size()));
}

MixtureOptions ScoreOptions::mixture(Device where) const {
  const std::vector<std::string> models = mixed_models();
  return {.models = models,
          .weights = read_mixture_weights(weights, models.size()),
          .tune = tune_weights,
          .tokens = tokens,
          .undo_margins = margin_correction,
          .max_unknown = max_unknown,
          .scoring = {.carry_state = carry_state, .batch_tokens = batch_tokens, .window = window},
          .device = where};
}

RestrictOptions ScoreOptions::restricting(Device where) const {
  return {.sets = restrict_to,
          .batch_tokens = batch_tokens,
          .bootstrap = {.resamples = resamples, .seed = seed},
          .json = json,
          .choices = choices,
          .device = where};
}

TopPageOptions ScoreOptions::top_page(Device where) const {
  return {.top = top, .at = at, .batch_tokens = batch_tokens, .device = where};
}

ClusterOptions ScoreOptions::clustering() const {
  return {.spec = ClusterSpec::parse(clusters),
          .size = cluster_size,
          .min_count = cluster_min_count,
          .text = cluster_text,
          .seed = seed};
}

}  // namespace nine::app
