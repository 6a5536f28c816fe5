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
      if (tokens_) out_ << (i > 0 ? " " : "") << shortest(-nats[i]);
      sum -= nats[i];
      total_.nats += nats[i];
      ++total_.tokens;
      if (std::isinf(nats[i])) ++excluded_;
    }
    ++lines_;
    require(
        std::isfinite(total_.nats) || excluded_ > 0, "up to line ", lines_,
        " the log-probabilities add up to more than a number holds: the model's weights are too "
        "large");
    if (!tokens_) out_ << shortest(sum);
    out_ << '\n';
  }
  const Evaluation& total() const { return total_; }
  int64_t excluded() const { return excluded_; }

 private:
  std::ostream& out_;
  bool tokens_;
  Evaluation total_;
  int64_t excluded_ = 0, lines_ = 0;
};

}  // namespace

void write_scores(const ScoreOptions& o, const LanguageModel& model, EncodedLines& input,
                  TextOutput& out, Communicator& communicator) {
  ScoreWriter writer(out.stream(), o.tokens);
  const double margin = o.margin_correction ? margin_to_undo(o.checkpoint) : 0;
  while (input.next()) {
    score_text(
        model, input.text(), {o.carry_state, o.batch_tokens, margin, o.window, input.first()},
        [&](std::span<const double> nats) { writer.write(nats); }, communicator);
    out.flush();
  }
  out.finish();
  if (!communicator.first() || input.tokens() == 0) return;
  Evaluation total = writer.total();
  // A text of words shows the share even where it is 0.
  const std::string unknown_share =
      model.tokenizer() != nullptr && input.unknown() == 0
          ? ""
          : concat(", ",
                   fixed(100.0 * static_cast<double>(input.unknown()) /
                             static_cast<double>(input.tokens()),
                         2),
                   "% unknown tokens");
  if (total.set_raw_size(input.raw_size()); total.bytes > 0)
    std::fprintf(
        stderr,
        "perplexity %s a token, %s%.4f bits per byte over %lld tokens, %s words, %lld "
        "bytes (%lld lines%s)\n",
        power_of_e(total.nll(), 5).c_str(),
        total.words > 0 ? concat(power_of_e(total.word_nll(), 5), " a word, ").c_str() : "",
        total.bits_per_byte(), static_cast<long long>(total.tokens),
        total.words > 0 ? concat(total.words).c_str() : "no", static_cast<long long>(total.bytes),
        static_cast<long long>(input.count()), unknown_share.c_str());
  else
    std::fprintf(stderr, "perplexity %s over %lld tokens (%lld sentences%s)\n",
                 power_of_e(total.nll(), 5).c_str(), static_cast<long long>(total.tokens),
                 static_cast<long long>(input.count()), unknown_share.c_str());
  if (writer.excluded() > 0)
    std::fprintf(stderr,
                 "lm_score: tokens of probability 0: %lld, which the model excludes by a bias of "
                 "-inf\n",
                 static_cast<long long>(writer.excluded()));
}

}  // namespace nine::app
