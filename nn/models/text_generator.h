// Continues texts with a language model, and keeps what that needs between calls.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/arena.h"
#include "nn/models/generate_text.h"
#include "nn/models/language_network.h"
#include "nn/models/next_words.h"

namespace nine {

/// Continues texts side by side. Packs the network's weights once; the network must outlive the
/// object and keep them. For one thread.
class TextGenerator {
 public:
  explicit TextGenerator(const LanguageNetwork& network);

  /// Continues at most kMaxGenerateBatch texts. `first`: the index of the first among all texts of
  /// a call. The random numbers and the rules are those of `options`, with the words' `unknown`.
  void run(std::span<GeneratedText> texts, int64_t first, const GenerateOptions& options,
           int32_t unknown);

 private:
  Arena arena_;
  Tape tape_;
  NoGrad guard_;
  std::unique_ptr<StepDecoder> decoder_;
  DecodingHead head_;
  NextWords next_;
  bool every_column_;  // also those of no text, because a row's bits may depend on the others
  bool blocks_;        // a step may read several words of a prompt
};

/// The generators of a model that wait for their next call. Threads may share it.
class TextGenerators {
 public:
  /// Returns a generator that waits, or a new one.
  std::unique_ptr<TextGenerator> take(const LanguageNetwork& network);
  /// Keeps a generator for the next call. On a GPU it is destroyed, because its pool takes memory
  /// that other work needs.
  void give_back(std::unique_ptr<TextGenerator> generator, Device device);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextGenerator>> waiting_;
};

}  // namespace nine
