// lm_score: applies language models to a text: log-probabilities under one model or under a mixture
// of several, the likeliest words, a mixture's components, continuations, the word of a set, and
// comparisons with another model. Parses and calls; the parts are in apps/lm_score/.
#include <algorithm>
#include <cstdio>

#include "apps/cli/line_input.h"
#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/run_main.h"
#include "apps/cli/same_start.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_kind.h"
#include "apps/cli/unknown_words.h"
#include "apps/cli/version.h"
#include "apps/lm_score/lm_clusters.h"
#include "apps/lm_score/lm_compare.h"
#include "apps/lm_score/lm_components.h"
#include "apps/lm_score/lm_restrict.h"
#include "apps/lm_score/lm_top_k.h"
#include "apps/lm_score/score_options.h"
#include "apps/lm_score/write_continuations.h"
#include "apps/lm_score/write_scores.h"
#include "apps/lm_score/write_words.h"
#include "core/number_format.h"
#include "data/spelled_specials.h"
#include "nn/models/model_directory.h"
#include "nn/models/same_models.h"
#include "nn/models/word_mixture.h"

namespace nine::app {
namespace {

using Lines = std::vector<std::string>;

// A text without lines has no results; where nothing else comes out, that is an error.
void require_lines(const ScoreOptions& o, bool there) {
  const bool needs_lines =
      o.generate || !o.compare.empty() || !o.restrict_to.empty() || !o.interpolate.empty();
  require(there || !needs_lines, input_name(o.input), " has no lines",
          o.generate ? "; an empty line is a prompt for a sentence from its start" : " to score");
}

void generate(const ScoreOptions& o, const LanguageModel& model, EncodedLines& input,
              TextOutput& out, Communicator& communicator) {
  GenerateOptions how{.sampling = o.sampling,
                      .max_words = o.max_words * o.line_count,
                      .lines = o.line_count,
                      .samples = o.samples,
                      .batch = o.batch,
                      .seed = o.seed};
  GenerationStats made;
  const bool raw = model.tokenizer() != nullptr;
  while (input.next()) {
    how.first_prompt = input.first();
    std::vector<std::string> prompts = input.lines();
    if (raw)
      for (std::string& prompt : prompts)  // which goes on behind its last character
        if (prompt.ends_with('\n')) prompt.pop_back();
    made +=
        write_continuations(model, prompts, how, o.json, o.detokenize, out.stream(), communicator);
    out.flush();
  }
  out.finish();
  if (communicator.first() && input.unknown() > 0)
    std::fprintf(stderr,
                 "lm_score: words of the prompts that the model does not know: %lld of %lld\n",
                 static_cast<long long>(input.unknown()),
                 static_cast<long long>(input.tokens() - input.count()));
  if (communicator.first() && made.texts > 0)
    std::fprintf(stderr, "%s\n", summary(made, raw ? "tokens" : "words").c_str());
}

void write_all_words(const ScoreOptions& o, const LanguageModel& model, EncodedLines& input,
                     TextOutput& out, Communicator& communicator) {
  WrittenWords all;
  while (input.next()) {
    const WrittenWords part = write_words(model, input, o.batch_tokens, out.stream(), communicator);
    all.words += part.words;
    all.bits += part.bits;
    out.flush();
  }
  if (communicator.first() && all.words > 0)
    std::fprintf(stderr, "mean surprisal %s bits a word over %lld words (%lld lines)\n",
                 fixed(all.bits / static_cast<double>(all.words), 4).c_str(),
                 static_cast<long long>(all.words), static_cast<long long>(input.count()));
}

// Whether the models read raw text. Error: a task for which the words of the vocabulary must be
// words.
bool are_raw(const ScoreOptions& o, const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    if (!reads_raw_text(model)) continue;
    const char* const task = !o.restrict_to.empty()            ? "--restrict"
                             : !o.clusters.empty()             ? "--clusters"
                             : !o.compare.empty() && o.top > 0 ? "--compare with --top"
                                                               : nullptr;
    require(task == nullptr, task == nullptr ? "" : task, " is for models of words, and ", model,
            " reads raw text: its vocabulary has parts of words");
  }
  for (const std::string& model : models) require_same_tokens(models[0], model);
  return reads_raw_text(models[0]);
}

// What is done with one model, part by part of a text.
void run_in_parts(const ScoreOptions& o, Device device, LineInput& text, TextOutput& out,
                  Communicator& communicator) {
  const LanguageModel model = LanguageModel::load(o.checkpoint, device);
  EncodedLines input(text, model, o.max_unknown, input_name(o.input),
                     concat("the model ", o.checkpoint), o.carry_state);
  if (o.words) {
    write_all_words(o, model, input, out, communicator);
  } else if (o.scores()) {
    write_scores(o, model, input, out, communicator);
  } else if (o.generate) {
    generate(o, model, input, out, communicator);
  } else {
    while (input.next()) {
      if (o.components)
        write_components(model, input, o.batch_tokens, out.stream(), communicator);
      else
        write_top_words(model, input, o.top, o.batch_tokens, out.stream(), communicator);
      out.flush();
    }
  }
  out.finish();
  input.finish();
}

// What one process does alone.
void run_alone(const ScoreOptions& o, Device device, const Lines& lines) {
  TextOutput out(o.output);
  if (!o.clusters.empty()) {
    write_clusters(o.checkpoint, o.clustering(), out.stream());
  } else if (!o.interpolate.empty()) {
    write_mixture(o.mixture(device), lines, input_name(o.input), out.stream());
  } else {
    write_top_page(o.compare[0], o.compare[1], lines, o.top_page(device), out.stream());
  }
  out.finish();
}

int run(const ScoreOptions& o, const Options& options, Device device, Communicator& communicator) {
  const bool mixing = !o.interpolate.empty();
  std::vector<std::string> models = mixing ? o.mixed_models() : o.compare;
  if (models.empty()) models.push_back(o.checkpoint);
  const auto files = !mixing
                         ? models.end()
                         : std::stable_partition(models.begin(), models.end(),
                                                 [](const auto& m) { return !is_ngram_file(m); });
  require_same_use(communicator, options, {models.begin(), files}, {files, models.end()});
  if (const auto same = find_same_models(o.compare); same && communicator.first())
    std::fprintf(stderr,
                 "lm_score: warning: --compare %s has the weights of %s: a model is compared with "
                 "itself\n",
                 same->again.c_str(), same->before.c_str());
  const bool raw = !mixing && are_raw(o, models);
  require(raw || !o.words, "--words is for models of raw text (lm_train --text), and ", models[0],
          " is a model of words, of which --tokens gives the log-probability of each word");
  if (!o.clusters.empty()) {
    if (communicator.first()) run_alone(o, device, {});
    return kExitDone;
  }
  const bool flush = o.answers_lines() && flushes(options, o.flush, o.input == "-", communicator);
  SpelledSpecials spelled(Specials::kLanguageModel);
  LineInput text(o.input, flush, communicator, raw ? nullptr : &spelled, raw);
  const Lines& lines = text.lines();  // without --flush all of them
  if (!flush) {
    require_lines(o, !lines.empty());
    if (!o.compare.empty() || !o.restrict_to.empty())  // EncodedLines does it for the others
      require_known(models, lines, o.max_unknown, input_name(o.input));
    if (communicator.first()) {
      say_spelled_specials(spelled, input_name(o.input), "lm_score");
      if (!raw || is_markup(lines)) warn_of_other_kind(lines, input_name(o.input));
    }
  }
  if (mixing || (o.restrict_to.empty() && !o.compare.empty() && o.top > 0)) {
    if (communicator.first()) run_alone(o, device, lines);
    return kExitDone;
  }
  TextOutput out(output_of(o.output, communicator));
  if (lines.empty() && !flush) {  // a line for each line of the input: none
    model_directory(o.checkpoint, kDictionaryFile);
  } else if (!o.restrict_to.empty()) {
    write_restricted(models, lines, o.restricting(device), out.stream(), communicator);
  } else if (!o.compare.empty()) {
    write_comparison(o.compare[0], o.compare[1], lines,
                     {{o.carry_state, o.batch_tokens}, o.resamples, o.worst, o.seed, device},
                     out.stream(), communicator);
  } else {
    run_in_parts(o, device, text, out, communicator);
  }
  out.finish();
  if (flush) say_spelled_specials(spelled, input_name(o.input), "lm_score");
  require_lines(o, text.count() > 0);
  if (text.count() == 0 && communicator.first())
    std::fprintf(stderr, "%s has no lines\n", input_name(o.input).c_str());
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("lm_score",
                  "Scores text with a language model, shows which words the model expected, "
                  "continues text, and compares two models.",
                  version_text);
  ScoreOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machines({.threads = o.threads,
                        .device = o.device,
                        .precision = o.precision,
                        .mpi_timeout_s = o.mpi_timeout},
                       [&](nine::Device device, nine::Communicator& communicator) {
                         return run(o, options, device, communicator);
                       });
  });
}
