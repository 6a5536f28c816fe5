#include "apps/lm_score/lm_components.h"

#include <algorithm>
#include <cmath>

#include "core/number_format.h"
#include "nn/training/language_model_task.h"

namespace nine::app {
namespace {

// K numbers, `stride` apart.
void write_numbers(std::ostream& out, const double* x, int64_t count, int64_t stride,
                   bool logarithms) {
  for (int64_t k = 0; k < count; ++k)
    out << (k > 0 ? "," : "") << shortest(logarithms ? std::exp(x[k * stride]) : x[k * stride]);
}

}  // namespace

void write_components(const SavedLanguageModel& saved, const std::vector<std::string>& lines,
                      int64_t batch_tokens, std::ostream& out) {
  const LanguageModel& model = saved.model();
  const HeadSpec& head = model.config().head.spec;
  require(head.mixture, "--components is for mixtures, but this model's head is ", head.to_text());
  const Corpus text = Corpus::of_lines(lines, saved.vocabulary());
  Arena arena("score", saved.device());
  Tape tape(arena);
  encode_sentences(model, tape, text, batch_tokens, [&](const EncodedSentences& batch) {
    const SoftmaxLoss loss = model.loss(batch.hidden, batch.targets, 1.0);
    const std::vector<double> prior = loss.prior.value().to_vector(),
                              share = loss.share.value().to_vector();
    const int64_t rows = batch.hidden.shape().rows(), size = head.size();
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t length = text.length(batch.first + c),
                    end = std::min(batch.begin + batch.rows, length);
      for (int64_t t = batch.begin; t < end; ++t) {
        const int64_t row = (t - batch.begin) * batch.count + c;
        if (t > 0) out << ' ';
        write_numbers(out, prior.data() + row * size, size, 1, true);
        out << ';';
        write_numbers(out, share.data() + row, size, rows, false);
      }
      if (end == length) out << '\n';
    }
  });
}

}  // namespace nine::app
