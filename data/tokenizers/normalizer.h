// What a tokenizer does to a text before it cuts the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/unicode_forms.h"

namespace nine {

/// SentencePiece's table of replacements: a trie (a double array of Darts) and the texts that it
/// leads to.
class CharactersMap {
 public:
  /// Error: the sizes in `map` do not fit, or a link of the trie leads out of it.
  explicit CharactersMap(std::string_view map);
  bool empty() const { return units_.empty(); }
  /// Returns the table as its file has it.
  std::string bytes() const;
  /// Finds the replacement of the longest, or the shortest, start of `text` that has one. Returns
  /// the number of bytes that it replaces; 0: there is no replacement.
  size_t find(std::string_view text, bool longest, std::string_view& replacement) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;  // each ends with a NUL
};

/// The steps of a normaliser, in order.
class Normalizer {
 public:
  Normalizer() = default;
  /// Reads the member "normalizer" of a tokenizer.json, which may be null. Errors name a type or a
  /// member that Nine does not know.
  explicit Normalizer(const Json& part);

  /// SentencePiece's own normalisation.
  struct SentencePiece {
    std::shared_ptr<const CharactersMap> map;
    bool add_dummy_prefix = true, remove_extra_white_space = true, escape_white_space = true;
    std::vector<std::string> user_defined;  // these are never changed; the longest come first
  };
  explicit Normalizer(SentencePiece how) { steps_.emplace_back(std::move(how)); }

  bool empty() const { return steps_.empty(); }
  /// Changes a text. Bytes that are not UTF-8 stay as they are.
  void apply(std::string& text) const;

 private:
  struct Prepend {
    std::string text;
  };
  struct Replace {
    std::string from, to;
    std::shared_ptr<const SplitPattern> pattern;  // null: `from` is plain text
  };
  struct Strip {
    bool left, right;
  };
  struct Precompiled {
    std::shared_ptr<const CharactersMap> map;
  };
  using Step = std::variant<Prepend, Replace, Strip, Precompiled, UnicodeForm, SentencePiece>;

  void add(const Json& part, int depth);
  static void run(const Prepend& step, std::string& text);
  static void run(const Replace& step, std::string& text);
  static void run(const Strip& step, std::string& text);
  static void run(const Precompiled& step, std::string& text);
  static void run(UnicodeForm form, std::string& text);
  static void run(const SentencePiece& step, std::string& text);

  std::vector<Step> steps_;
};

/// Calls f(part, valid) for the parts of `text` that are valid UTF-8 and those that are not, from
/// left to right.
template <class F>
void for_each_validity(std::string_view text, F&& f);

/// Replaces each occurrence of `from`, which is not empty.
void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Reads base64 with padding. Returns false if it is not base64.
bool read_base64(std::string_view text, std::string& bytes);
std::string base64(std::string_view bytes);

}  // namespace nine

#include "data/text.h"

namespace nine {

template <class F>
void for_each_validity(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t bad = std::min(find_invalid_utf8(text), text.size());
    if (bad > 0) f(text.substr(0, bad), true);
    text.remove_prefix(bad);
    if (text.empty()) return;
    // A byte of a damaged character at a time, until a character begins.
    size_t size = 1;
    while (size < text.size() && find_invalid_utf8(text.substr(size, 4)) == 0) ++size;
    f(text.substr(0, size), false);
    text.remove_prefix(size);
  }
}

}  // namespace nine
