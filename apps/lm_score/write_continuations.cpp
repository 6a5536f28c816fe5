#include "apps/lm_score/write_continuations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/number_format.h"
#include "data/tokenizers/model_tokenizer.h"
#include "nn/models/translation_text.h"

namespace nine::app {
namespace {

std::string detokenized_lines(std::string_view text, const DetokenizeOptions& prose) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += (begin > 0 ? "\n" : "") +
           detokenize(join_subwords(std::string(text.substr(begin, end - begin))), prose);
    begin = end + 1;
  }
  return out;
}

}  // namespace

GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, bool json,
                                    const DetokenizeOptions& prose, std::ostream& out,
                                    Communicator& communicator) {
  const bool detokenizes = prose.rules != Detokenizing::none;
  require(!detokenizes || model.tokenizer() == nullptr,
          "this model writes raw text with its own tokenizer: leave out --detokenize");
  require(options.lines == 1 || model.tokenizer() == nullptr,
          "this model reads raw text, whose line ends are parts of the text: leave out --lines");
  const auto write = [&](std::span<const GeneratedText> texts) {
    for (const GeneratedText& text : texts) {
      std::string made = text_of(text, prompts[static_cast<size_t>(text.prompt)], model);
      if (model.tokenizer() != nullptr) made = visible_text(made);
      if (detokenizes) made = detokenized_lines(made, prose);
      if (json)
        made = json_text({{"line", options.first_prompt + text.prompt + 1},
                          {"sample", text.sample + 1},
                          {"text", made}});
      out << made << (model.tokenizer() != nullptr && made.ends_with('\n') ? "" : "\n");
    }
    out.flush();
  };
  return generate_text(model, prompts, options, write, communicator);
}

std::string summary(const GenerationStats& made, std::string_view added) {
  const double words = static_cast<double>(made.words + made.line_ends + made.ended);
  const std::string ends = made.line_ends > 0 ? concat(made.line_ends, " line ends added, ") : "";
  return concat(made.texts, " texts, ", made.words, " ", added, " added, ", ends, made.ended,
                " ended by </s>; perplexity of what was added ", power_of_e(made.nats / words, 5));
}

}  // namespace nine::app
