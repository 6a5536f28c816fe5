#include "apps/lm_score/write_continuations.h"

#include "data/text.h"

namespace nine::app {

GenerationStats write_continuations(const SavedLanguageModel& saved,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, std::ostream& out) {
  std::vector<std::string_view> typed;
  return generate_text(saved, prompts, options, [&](std::span<const GeneratedText> texts) {
    for (const GeneratedText& text : texts) {
      split_words(prompts[static_cast<size_t>(text.prompt)], typed);
      for (size_t i = 0; i < text.ids.size(); ++i)
        out << (i > 0 ? " " : "")
            << (i < text.prompt_words ? typed[i]
                                      : std::string_view(saved.vocabulary().word(text.ids[i])));
      out << '\n';
    }
    out.flush();
  });
}

}  // namespace nine::app
