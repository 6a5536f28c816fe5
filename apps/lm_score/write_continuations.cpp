#include "apps/lm_score/write_continuations.h"

namespace nine::app {

GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, std::ostream& out) {
  return generate_text(model, prompts, options, [&](std::span<const GeneratedText> texts) {
    for (const GeneratedText& text : texts)
      out << line_of(text, prompts[static_cast<size_t>(text.prompt)], model.vocabulary()) << '\n';
    out.flush();
  });
}

}  // namespace nine::app
