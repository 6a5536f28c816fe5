// Regular expressions that cut text into pieces, by PCRE2.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// The splits that have a name.
enum class Split { gpt2, gpt4, llama3 };
template <>
inline constexpr EnumNames<Split, 3> kEnumNames<Split>{
    "split", {{{Split::gpt2, "gpt2"}, {Split::gpt4, "gpt4"}, {Split::llama3, "llama3"}}}};

/// Returns the pattern of a split. Those of gpt4 (cl100k) and llama3 are equal.
const char* pattern_of(Split split);
/// Returns the end of the piece that begins at byte `begin` of valid UTF-8 `text`: the match of
/// pattern_of(split) there. Each character belongs to a piece.
size_t piece_end(Split split, std::string_view text, size_t begin);

/// A regular expression with Unicode properties. Its \s is Unicode's White_Space, as in Hugging
/// Face tokenizers and tiktoken. piece_end() cuts text by the patterns of the named splits, and
/// PCRE2 by all others. Several threads may use one pattern.
class SplitPattern {
 public:
  /// Errors name the pattern: it does not compile, can match the empty text, or has more than 4,096
  /// bytes.
  explicit SplitPattern(const std::string& pattern);

  const std::string& text() const { return text_; }
  /// Calls f(begin, end) for each match in valid UTF-8 `text`, from left to right. Errors: a match
  /// needs more than 100,000 + 16 * text.size() steps; \K moves the beginning of a match.
  template <class F>
  void for_each(std::string_view text, F&& f) const {
    if (named_) {
      for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = piece_end(*named_, text, begin);
        f(begin, end);
      }
      return;
    }
    Search search(*this, text);
    for (size_t begin = 0, end = 0; search.next(begin, end);) f(begin, end);
  }

 private:
  struct Compiled;
  class Search {
   public:
    Search(const SplitPattern& pattern, std::string_view text);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    ~Search();
    bool next(size_t& begin, size_t& end);

   private:
    const SplitPattern& pattern_;
    std::string_view text_;
    size_t at_ = 0;
    struct Data;
    std::unique_ptr<Data> data_;
  };

  std::string text_;
  std::optional<Split> named_;  // the split of this pattern, which is cut without PCRE2
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace nine
