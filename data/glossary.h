// Words and patterns that byte pair encoding leaves whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Glossaries as subword-nmt's: each a text or a regular expression over characters (PCRE2's
/// syntax, which agrees with Python's on what is common; \w, \d and \s know all of Unicode). Text
/// that matches is split off from the rest of its word and kept whole.
class Glossaries {
 public:
  Glossaries() = default;
  /// Errors: no regular expression, or one that matches the empty text.
  explicit Glossaries(const std::vector<std::string>& patterns);

  bool empty() const { return patterns_.empty(); }
  /// Whether all of `text` matches a glossary. Error: as isolate().
  bool holds(std::string_view text) const;
  /// `word` cut into what matches and what lies between, by each pattern in turn.
  /// Errors: a word of more than 4096 characters and a pattern that is no plain text; a search that
  /// needs more than a million steps, which names pattern and word.
  std::vector<std::string> isolate(std::string_view word) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace nine
