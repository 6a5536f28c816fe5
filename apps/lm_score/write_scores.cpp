#include "apps/lm_score/write_scores.h"

#include <cmath>
#include <cstdio>

#include "apps/lm_score/margin_correction.h"
#include "core/number_format.h"
#include "nn/models/score_text.h"

namespace nine::app {
namespace {

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
      if (std::isinf(nats[i])) ++excluded_;
    }
    if (!tokens_) out_ << number(sum);
    out_ << '\n';
  }
  const Evaluation& total() const { return total_; }
  int64_t excluded() const { return excluded_; }

 private:
  static std::string number(double x) { return std::isnan(x) ? "-" : shortest(x); }

  std::ostream& out_;
  bool tokens_;
  Evaluation total_;
  int64_t excluded_ = 0;
};

}  // namespace

void write_scores(const ScoreOptions& o, Device device, std::span<const std::string> lines,
                  TextOutput& out, Communicator& communicator) {
  const LanguageModel model = LanguageModel::load(o.checkpoint, device);
  const Corpus text = Corpus::of_lines(lines, model.vocabulary());
  ScoreWriter writer(out.stream(), o.tokens);
  const double margin = o.margin_correction ? margin_to_undo(o.checkpoint) : 0;
  score_text(
      model, text, {o.carry_state, o.batch_tokens, margin},
      [&](std::span<const double> nats) { writer.write(nats); }, communicator);
  out.finish();
  if (!communicator.first()) return;
  const Evaluation& total = writer.total();
  const int64_t dropped = text.tokens() - total.tokens;
  std::fprintf(
      stderr, "perplexity %.5f over %lld tokens (%lld sentences, %.2f%% unknown tokens)%s\n",
      total.ppl(), static_cast<long long>(total.tokens), static_cast<long long>(text.sentences()),
      100.0 * static_cast<double>(text.unknown()) / static_cast<double>(text.tokens()),
      dropped > 0
          ? concat("; ", dropped, " tokens at the end fill no row of columns and were left out")
                .c_str()
          : "");
  if (writer.excluded() > 0)
    std::fprintf(stderr,
                 "lm_score: tokens of probability 0: %lld, which the model excludes by a bias of "
                 "-inf\n",
                 static_cast<long long>(writer.excluded()));
}

}  // namespace nine::app
