// The parts of a text as a model reads them, each encoded once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/line_input.h"
#include "data/corpus.h"

namespace nine::app {

/// Encodes each part of a text and holds --max-unknown against it: a whole text before it is worked
/// with, lines that are answered one by one when all have been.
class EncodedLines {
 public:
  /// `name` of the text and `owner` of the vocabulary, both for messages; `most`: --max-unknown.
  EncodedLines(LineInput& input, const Vocabulary& vocabulary, double most, std::string name,
               std::string owner);

  /// Goes on to the next part, as LineInput::next() does. Errors: its own; require_known()'s.
  bool next();
  /// Of lines one by one, when all have been answered. Error: require_known()'s.
  void finish() const;

  const Corpus& text() const { return *text_; }
  const std::vector<std::string>& lines() const { return input_.lines(); }
  /// Lines before this part; lines in all parts so far.
  int64_t first() const { return input_.first(); }
  int64_t count() const { return input_.count(); }
  /// Tokens in all parts so far, and those of them that the vocabulary lacks.
  int64_t tokens() const { return tokens_; }
  int64_t unknown() const { return unknown_; }

 private:
  void check() const;

  LineInput& input_;
  const Vocabulary& vocabulary_;
  double most_;
  std::string name_, owner_;
  std::optional<Corpus> text_;
  int64_t tokens_ = 0, unknown_ = 0;
};

}  // namespace nine::app
