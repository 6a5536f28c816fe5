#include "apps/lm_score/score_text.h"

namespace nine::app {

void score_text(const SavedLanguageModel& model, const Corpus& text, const ScoringOptions& reading,
                const std::function<void(std::span<const double>)>& visit) {
  Arena arena("score", model.device());
  Tape tape(arena);
  if (!reading.carry_state) {
    score_sentences(model.model(), tape, text, reading.batch_tokens,
                    [&](int64_t, std::span<const double> nats) { visit(nats); });
    return;
  }
  std::vector<double> nats;
  evaluate_carried(model.model(), tape, text, 10, 100, &nats);
  size_t at = 0;
  for (int64_t s = 0; s < text.sentences(); at += static_cast<size_t>(text.length(s++)))
    visit(std::span(nats).subspan(at, static_cast<size_t>(text.length(s))));
}

}  // namespace nine::app
