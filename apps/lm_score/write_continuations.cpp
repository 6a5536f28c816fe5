#include "apps/lm_score/write_continuations.h"

#include "core/error.h"
#include "core/number_format.h"

namespace nine::app {

GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, std::ostream& out,
                                    Communicator& communicator) {
  const auto write = [&](std::span<const GeneratedText> texts) {
    for (const GeneratedText& text : texts)
      out << line_of(text, prompts[static_cast<size_t>(text.prompt)], model.vocabulary()) << '\n';
    out.flush();
  };
  return generate_text(model, prompts, options, write, communicator);
}

std::string summary(const GenerationStats& made) {
  const double words = static_cast<double>(made.words + made.ended);
  return concat(made.texts, " texts, ", made.words, " words added, ", made.ended,
                " ended by </s>; perplexity of what was added ", power_of_e(made.nats / words, 5));
}

}  // namespace nine::app
