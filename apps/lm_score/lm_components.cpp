#include "apps/lm_score/lm_components.h"

#include <span>
#include <sstream>

#include "core/number_format.h"
#include "core/shared_parts.h"
#include "nn/models/component_shares.h"
#include "nn/models/lstm_language_model.h"

namespace nine::app {
namespace {

void write_numbers(std::ostream& out, std::span<const double> numbers) {
  for (size_t k = 0; k < numbers.size(); ++k) out << (k > 0 ? "," : "") << shortest(numbers[k]);
}

}  // namespace

void write_components(const LanguageModel& model, const EncodedLines& input, int64_t batch_tokens,
                      std::ostream& out, Communicator& communicator) {
  const Corpus& text = input.text();
  const HeadSpec& head = model.network().head_config().spec;
  require(head.mixture, "--components is for mixtures, but this model's head is ", head.to_text());
  const std::vector<SentenceRange> batches =
      sentence_batches(model.network(), text, batch_tokens, {.before = input.first()});
  const auto make = [&](int64_t i) {
    std::ostringstream part;
    component_shares(
        model, text, batch_tokens,
        [&](int64_t sentence, int64_t token, const ComponentShares& shares) {
          if (token > 0) part << ' ';
          write_numbers(part, shares.prior);
          part << ';';
          write_numbers(part, shares.share);
          if (token + 1 == text.length(sentence)) part << '\n';
        },
        batches[static_cast<size_t>(i)]);
    return part.str();
  };
  for_shared_parts(communicator, std::ssize(batches), make,
                   [&](std::string_view part) { out << part; });
}

}  // namespace nine::app
