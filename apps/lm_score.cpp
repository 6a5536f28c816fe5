// lm_score: log-probabilities and perplexity of a text under a trained model.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "apps/shared/lm_data.h"
#include "apps/shared/options.h"
#include "apps/shared/run_main.h"
#include "apps/shared/version.h"
#include "data/text.h"

namespace nine::app {
namespace {

struct ScoreOptions {
  std::string checkpoint, input = "-", output = "-", device = "cpu";
  bool carry_state = false, tokens = false;
  int64_t batch_tokens = 4096;
  int threads = 0;

  void declare(Options& o) {
    o.add("checkpoint", checkpoint, "a checkpoint, or a run directory (its best checkpoint)").unit("DIR").required();
    o.add("input", input, "text to score, tokenised, one sentence a line; -: standard input").unit("FILE");
    o.add("output", output, "log-probabilities (natural), one line for each line of input; -: standard output").unit("FILE");
    o.add("tokens", tokens, "one number for each word and the end of sentence, in place of the sentence's sum");
    o.add("carry-state", carry_state, "carry the state through the text as in validation (10 columns; what fills no row is nan)");
    o.add("batch-tokens", batch_tokens, "positions computed at once").at_least(1).unit("tokens");
    o.add("threads", threads, "0: all physical cores").range(0, 4096).default_text("physical cores");
    o.add("device", device, "where to compute").unit("cpu|cuda[:i]");
  }
};

// The text's lines; standard input too, which a Corpus cannot read twice.
std::vector<std::string> read_lines(const std::string& input) {
  std::vector<std::string> lines;
  std::string_view line;
  const auto take = [&](LineReader reader) {
    while (reader.next(line)) lines.emplace_back(line);
  };
  take(input == "-" ? LineReader(std::cin, "standard input") : LineReader({input}));
  return lines;
}

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
  static std::string number(double x) { return std::isnan(x) ? "nan" : detail::text_of(x); }

  std::ostream& out_;
  bool tokens_;
  Evaluation total_;
};

int score(const ScoreOptions& o, Device device) {
  const SavedLanguageModel saved(o.checkpoint, device);
  const Corpus text = Corpus::of_lines(read_lines(o.input), saved.vocabulary());
  require(text.sentences() > 0, o.input == "-" ? "standard input" : o.input, " has no lines to score");

  std::ofstream file;
  if (o.output != "-") {
    file.open(o.output);
    require(file.good(), "cannot write ", o.output);
  }
  ScoreWriter writer(o.output == "-" ? std::cout : file, o.tokens);
  Arena arena("score", device);
  Tape tape(arena);
  if (o.carry_state) {
    std::vector<double> nats;
    evaluate_carried(saved.model(), tape, text, 10, 100, &nats);
    size_t at = 0;
    for (int64_t s = 0; s < text.sentences(); at += static_cast<size_t>(text.length(s++)))
      writer.write(std::span(nats).subspan(at, static_cast<size_t>(text.length(s))));
  } else {
    score_sentences(saved.model(), tape, text, o.batch_tokens, [&](int64_t, std::span<const double> nats) { writer.write(nats); });
  }
  std::ostream& out = o.output == "-" ? std::cout : file;
  out.flush();
  require(out.good(), "writing ", o.output == "-" ? "standard output" : o.output, " failed: is the disk full?");

  const Evaluation& total = writer.total();
  const int64_t dropped = text.tokens() - total.tokens;
  std::fprintf(stderr, "perplexity %.5f over %lld tokens (%lld sentences, %.2f%% unknown words)%s\n", total.ppl(), static_cast<long long>(total.tokens),
               static_cast<long long>(text.sentences()), 100.0 * static_cast<double>(text.unknown()) / static_cast<double>(text.tokens()),
               dropped > 0 ? concat("; ", dropped, " tokens at the end fill no row of columns and were left out").c_str() : "");
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("lm_score", [&] {
    Options options("lm_score", "Scores text with a language model: log-probabilities a line, and perplexity.", kVersionLine);
    ScoreOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    return score(o, use_machine(o.threads, o.device));
  });
}
