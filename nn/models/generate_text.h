// Continuing prompts word by word with a language model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine {

/// A prompt with one of its continuations.
struct GeneratedText {
  int64_t prompt = 0, sample = 0;  ///< numbers of the call's prompt and of its continuation, from 0
  std::vector<int32_t> ids = {};   ///< the prompt's words, then those added, without </s>
  size_t prompt_words = 0;         ///< how many of the ids are the prompt's
  bool ended = false;              ///< by </s>, not by max_words
  /// -log p of the words added and of </s>, under the model itself (temperature 1).
  double nats = 0;
};

/// Totals of a call of generate_text.
struct GenerationStats {
  int64_t texts = 0;
  int64_t words = 0;  ///< added to the prompts, </s> not counted
  int64_t ended = 0;  ///< texts ended by </s>
  double nats = 0;    ///< the texts' sum

  GenerationStats& operator+=(const GenerationStats& more) {
    texts += more.texts;
    words += more.words;
    ended += more.ended;
    nats += more.nats;
    return *this;
  }
};

/// Continues each prompt `samples` times and calls `callback` with finished texts, a batch at a
/// time, in the order of prompts and samples. The random number behind a word depends on seed,
/// the prompt's number (from options.first_prompt on), sample and position alone, and so does
/// everything else: neither `batch` nor the other prompts change a text. Several processes share
/// batches out; each gets all texts. Error: options out of range.
GenerationStats generate_text(const LanguageModel& model, std::span<const std::string> prompts,
                              const GenerateOptions& options,
                              const std::function<void(std::span<const GeneratedText>)>& callback,
                              Communicator& communicator = one_process());

/// A generated text as a line: the prompt's words as they were typed, unknown ones too, and the
/// words added, with spaces between them.
std::string line_of(const GeneratedText& text, std::string_view prompt,
                    const Vocabulary& vocabulary);

}  // namespace nine
