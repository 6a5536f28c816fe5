#include "apps/lm_score/lm_components.h"

#include <span>

#include "core/number_format.h"
#include "nn/models/component_shares.h"
#include "nn/models/lstm_language_model.h"

namespace nine::app {
namespace {

void write_numbers(std::ostream& out, std::span<const double> numbers) {
  for (size_t k = 0; k < numbers.size(); ++k) out << (k > 0 ? "," : "") << shortest(numbers[k]);
}

}  // namespace

void write_components(const LanguageModel& model, const std::vector<std::string>& lines,
                      int64_t batch_tokens, std::ostream& out) {
  const HeadSpec& head = model.network().head_config().spec;
  require(head.mixture, "--components is for mixtures, but this model's head is ", head.to_text());
  const Corpus text = Corpus::of_lines(lines, model.vocabulary());
  component_shares(model, text, batch_tokens,
                   [&](int64_t sentence, int64_t token, const ComponentShares& shares) {
                     if (token > 0) out << ' ';
                     write_numbers(out, shares.prior);
                     out << ';';
                     write_numbers(out, shares.share);
                     if (token + 1 == text.length(sentence)) out << '\n';
                   });
}

}  // namespace nine::app
