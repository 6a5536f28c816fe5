// Words and patterns that byte pair encoding leaves whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Glossaries as in subword-nmt: each is a text or a regular expression over characters. The syntax
/// is PCRE2's, which agrees with Python's on common patterns; \w, \d and \s cover all of Unicode.
/// Text that matches is split off from the rest of its word and kept whole.
class Glossaries {
 public:
  Glossaries() = default;
  /// Compiles the patterns. Errors: an empty or invalid regular expression; a pattern that matches
  /// the empty text; invalid UTF-8.
  explicit Glossaries(const std::vector<std::string>& patterns);

  bool empty() const { return patterns_.empty(); }
  /// True if all of `text` matches a glossary. Errors: those of isolate().
  bool holds(std::string_view text) const;
  /// Cuts `word` at the matches of the first pattern, then each of the parts at the matches of the
  /// next pattern, and so on. Returns all parts in their order, matches and the text between them.
  /// Errors: a word of more than 4096 characters with a pattern that is not plain text; a search
  /// that needs more than a million steps. The second message names pattern and word.
  std::vector<std::string> isolate(std::string_view word) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace nine
