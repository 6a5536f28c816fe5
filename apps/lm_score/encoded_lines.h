// The parts of a text, each encoded once for a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/line_input.h"
#include "data/corpus.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Encodes each part of a text and checks --max-unknown: for a whole text, before work on it
/// begins; for lines that are answered one by one, after the last line.
class EncodedLines {
 public:
  /// Messages call the text `name` and the owner of the vocabulary `owner`. `most` is
  /// --max-unknown. `carry_state` as in corpus_of().
  EncodedLines(LineInput& input, const LanguageModel& model, double most, std::string name,
               std::string owner, bool carry_state = false);

  /// Goes to the next part, as LineInput::next() does. Errors: those of LineInput::next() and of
  /// require_known().
  bool next();
  /// Checks --max-unknown after the last line, if lines are answered one by one. Errors: those of
  /// require_known().
  void finish() const;

  const Corpus& text() const { return *text_; }
  const std::vector<std::string>& lines() const { return input_.lines(); }
  /// Return the number of lines before this part, and the number of lines in all parts so far.
  int64_t first() const { return input_.first(); }
  int64_t count() const { return input_.count(); }
  /// Return the number of tokens in all parts so far, and the number of these tokens that the
  /// vocabulary lacks.
  int64_t tokens() const { return tokens_; }
  int64_t unknown() const { return unknown_; }
  /// Returns the size of all parts so far of a raw text.
  RawSize raw_size() const { return raw_size_; }

 private:
  void check() const;

  LineInput& input_;
  const LanguageModel& model_;
  double most_;
  std::string name_, owner_;
  std::optional<Corpus> text_;
  bool carry_state_;
  int64_t tokens_ = 0, unknown_ = 0;
  RawSize raw_size_;
};

}  // namespace nine::app
