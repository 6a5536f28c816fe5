// lm_score: applies a language model to a text: log-probabilities, the likeliest words, a mixture's
// components, continuations, the word of a set, and comparisons with another model. Parses and
// calls; the parts are in apps/lm_score/.
#include <cmath>
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/run_main.h"
#include "apps/cli/text_io.h"
#include "apps/cli/version.h"
#include "apps/lm_score/lm_clusters.h"
#include "apps/lm_score/lm_compare.h"
#include "apps/lm_score/lm_components.h"
#include "apps/lm_score/lm_restrict.h"
#include "apps/lm_score/lm_top_k.h"
#include "apps/lm_score/margin_correction.h"
#include "apps/lm_score/score_options.h"
#include "apps/lm_score/write_continuations.h"
#include "core/number_format.h"
#include "nn/models/model_directory.h"
#include "nn/models/score_text.h"

namespace nine::app {
namespace {

using Lines = std::vector<std::string>;

// Writes a line for each sentence from the nats of its tokens.
class ScoreWriter {
 public:
  ScoreWriter(std::ostream& out, bool tokens) : out_(out), tokens_(tokens) {}
  void write(std::span<const double> nats) {
    double sum = 0;
    for (size_t i = 0; i < nats.size(); ++i) {
      if (tokens_) out_ << (i > 0 ? " " : "") << number(-nats[i]);
      sum -= nats[i];
      if (std::isnan(nats[i])) continue;  // left out: no prediction was made
      total_.nats += nats[i];
      ++total_.tokens;
    }
    if (!tokens_) out_ << number(sum);
    out_ << '\n';
  }
  const Evaluation& total() const { return total_; }

 private:
  static std::string number(double x) { return std::isnan(x) ? "nan" : shortest(x); }

  std::ostream& out_;
  bool tokens_;
  Evaluation total_;
};

void score(const ScoreOptions& o, Device device, const Lines& lines, TextOutput& out) {
  const LanguageModel model = LanguageModel::load(o.checkpoint, device);
  const Corpus text = Corpus::of_lines(lines, model.vocabulary());
  ScoreWriter writer(out.stream(), o.tokens);
  const double margin = o.margin_correction ? margin_to_undo(o.checkpoint) : 0;
  score_text(model, text, {o.carry_state, o.batch_tokens, margin},
             [&](std::span<const double> nats) { writer.write(nats); });
  out.finish();
  const Evaluation& total = writer.total();
  const int64_t dropped = text.tokens() - total.tokens;
  std::fprintf(
      stderr, "perplexity %.5f over %lld tokens (%lld sentences, %.2f%% unknown words)%s\n",
      total.ppl(), static_cast<long long>(total.tokens), static_cast<long long>(text.sentences()),
      100.0 * static_cast<double>(text.unknown()) / static_cast<double>(text.tokens()),
      dropped > 0
          ? concat("; ", dropped, " tokens at the end fill no row of columns and were left out")
                .c_str()
          : "");
}

void generate(const ScoreOptions& o, Device device, const Lines& lines, TextOutput& out) {
  const LanguageModel model = LanguageModel::load(o.checkpoint, device);
  const GenerateOptions how{.sampling = {o.allow_unknown, o.temperature, o.top_k, o.top_p},
                            .max_words = o.max_words,
                            .samples = o.samples,
                            .batch = o.batch,
                            .seed = o.seed};
  const GenerationStats made = write_continuations(model, lines, how, out.stream());
  out.finish();
  std::fprintf(stderr, "%s\n", summary(made).c_str());
}

int run(const ScoreOptions& o, Device device) {
  if (!o.clusters.empty()) {
    TextOutput sets(o.output);
    write_clusters(o.checkpoint, o.clustering(), sets.stream());
    sets.finish();
    return kExitDone;
  }
  const Lines lines = read_lines(o.input);
  const bool needs_lines = o.generate || !o.compare.empty() || !o.restrict_to.empty();
  require(!lines.empty() || !needs_lines, input_name(o.input), " has no lines",
          o.generate ? "; an empty line is a prompt for a sentence from its start" : " to score");
  TextOutput out(o.output);
  if (lines.empty()) {  // a line for each line of the input: none
    model_directory(o.checkpoint, kDictionaryFile);
    std::fprintf(stderr, "%s has no lines\n", input_name(o.input).c_str());
    out.finish();
    return kExitDone;
  }
  if (!o.restrict_to.empty()) {
    write_restricted(o.compare.empty() ? Lines{o.checkpoint} : o.compare, lines,
                     o.restricting(device), out.stream());
  } else if (!o.compare.empty() && o.top > 0) {
    write_top_page(o.compare[0], o.compare[1], lines, o.top_page(device), out.stream());
  } else if (!o.compare.empty()) {
    write_comparison(o.compare[0], o.compare[1], lines,
                     {{o.carry_state, o.batch_tokens}, o.resamples, o.worst, o.seed, device},
                     out.stream());
  } else if (o.generate) {
    generate(o, device, lines, out);
  } else if (o.components) {
    write_components(LanguageModel::load(o.checkpoint, device), lines, o.batch_tokens,
                     out.stream());
  } else if (o.top > 0) {
    write_top_words(LanguageModel::load(o.checkpoint, device), lines, o.top, o.batch_tokens,
                    out.stream());
  } else {
    score(o, device, lines, out);
  }
  out.finish();
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("lm_score",
                  "Scores text with a language model, shows what it expected, continues text, "
                  "compares two models.",
                  version_text);
  ScoreOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({.threads = o.threads, .device = o.device, .precision = o.precision},
                      [&](nine::Device device) { return run(o, device); });
  });
}
