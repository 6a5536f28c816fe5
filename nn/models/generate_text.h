// Continues prompts word by word with a language model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine {

/// One continuation of a prompt.
struct GeneratedText {
  /// Indices of the prompt in the call and of its continuation, from 0.
  int64_t prompt = 0, sample = 0;
  /// The prompt's words, then the added words, without the last </s>.
  std::vector<int32_t> ids = {};
  size_t prompt_words = 0;  ///< how many ids belong to the prompt
  int64_t line_ends = 0;    ///< how many added ids are </s>, between lines
  bool ended = false;       ///< true: ended by </s>; false: by max_words
  /// -log p of the added words and of </s>, under the model itself (temperature 1).
  double nats = 0;

  /// Returns how many words were added, without ends of lines.
  int64_t added_words() const {
    return static_cast<int64_t>(ids.size() - prompt_words) - line_ends;
  }
};

/// Totals of a call of generate_text.
struct GenerationStats {
  int64_t texts = 0;
  int64_t words = 0;      ///< added to the prompts, without </s>
  int64_t line_ends = 0;  ///< between lines of texts
  int64_t ended = 0;      ///< texts ended by </s>
  double nats = 0;        ///< sum over the texts

  GenerationStats& operator+=(const GenerationStats& more) {
    texts += more.texts;
    words += more.words;
    line_ends += more.line_ends;
    ended += more.ended;
    nats += more.nats;
    return *this;
  }
};

/// Continues each prompt `samples` times. Calls `callback` with finished texts, a batch at a time,
/// in the order of prompts and samples. The random number of a word depends only on the seed, the
/// prompt's number (counted from options.first_prompt), the sample and the position. Therefore
/// neither `batch` nor the other prompts change a text. Several processes share batches out; each
/// gets all texts. Error: options out of range.
GenerationStats generate_text(const LanguageModel& model, std::span<const std::string> prompts,
                              const GenerateOptions& options,
                              const std::function<void(std::span<const GeneratedText>)>& callback,
                              Communicator& communicator = one_process());

/// Returns a generated text: the prompt's words as typed, unknown words too, then the added words,
/// separated by spaces; an added </s> is a line end. Of a model that reads raw text, returns the
/// bytes of the prompt and the added bytes, which may end within a character.
std::string text_of(const GeneratedText& text, std::string_view prompt, const LanguageModel& model);

}  // namespace nine
