// Counts two things in a text that a model reads in an unexpected way. A word that is spelled as a
// special word is read as this special word; HTML, for example, has the words <s> and </s>. A
// byte-order mark at the beginning of a line becomes a part of the first word; such a mark stands
// where two files were joined.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/vocabulary.h"

namespace nine {

/// Counts the words that are spelled as special words, and the lines that begin with a byte-order
/// mark. Does not count <unk>, because a text that has <unk> means the special word.
class SpelledSpecials {
 public:
  explicit SpelledSpecials(const Specials& specials) : specials_(specials) {}

  /// Adds the ids of a sentence's words, without the </s> at its end.
  void add(std::span<const int32_t> ids);
  /// Adds a line of text, with spaces and tabs between its words. Compares each word with the texts
  /// of the special words. Includes add_beginning().
  void add_line(std::string_view line);
  /// Counts a byte-order mark at the beginning of a line whose words go to add().
  void add_beginning(std::string_view line);

  /// Returns a message such as "TEXT: 8 words are spelled </s>, which ends a sentence here; ...";
  /// empty if there is nothing to say.
  std::string message(std::string_view text) const;

 private:
  bool is_counted(int32_t id) const { return id < specials_.size && id != specials_.unknown; }

  Specials specials_;
  std::array<int64_t, std::tuple_size_v<decltype(Specials::texts)>> counts_{};
  int64_t marks_ = 0;  // lines that begin with a byte-order mark
};

}  // namespace nine
