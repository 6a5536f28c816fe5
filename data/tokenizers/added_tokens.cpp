#include "data/tokenizers/added_tokens.h"

#include <algorithm>

#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/unicode_forms.h"
#include "data/unicode.h"

namespace nine {

namespace {

// True if `character` is one character of a word, as Rust's \w.
bool is_word_character(std::string_view character) {
  static const SplitPattern word(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}])");
  bool found = false;
  for_each_validity(character, [&](std::string_view part, bool valid) {
    if (valid) word.for_each(part, [&](size_t, size_t) { found = true; });
  });
  return found;
}

bool word_ends(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<uint8_t>(text[--begin]) & 0xC0) == 0x80) {
  }
  return !text.empty() && is_word_character(text.substr(begin));
}

bool word_begins(std::string_view text) {
  return !text.empty() && is_word_character(text.substr(0, utf8_length(text[0])));
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token) {
  if (token.content.empty()) return;
  const auto byte = static_cast<uint8_t>(token.content[0]);
  auto& list = by_byte_[byte];
  tokens_.push_back(token);
  const auto place = std::find_if(list.begin(), list.end(), [&](uint32_t i) {
    return tokens_[i].content.size() < token.content.size();
  });
  list.insert(place, static_cast<uint32_t>(tokens_.size() - 1));
  begins_[byte] = true;
  all_special_ = all_special_ && token.special;
}

bool AddedTokenFinder::find(std::string_view text, size_t from, bool special_too,
                            Match& match) const {
  if (!special_too && all_special_) return false;
  for (size_t at = from; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (!begins_[byte]) continue;
    for (uint32_t i : by_byte_[byte]) {
      const AddedToken& token = tokens_[i];
      if (token.special && !special_too) continue;
      if (!text.substr(at).starts_with(token.content)) continue;
      size_t begin = at, end = at + token.content.size();
      // As Hugging Face tokenizers, which does not try a shorter token either.
      if (token.single_word && (word_ends(text.substr(0, begin)) || word_begins(text.substr(end))))
        break;
      while (token.lstrip && begin > from) {
        const size_t space = white_space_at_end(text.substr(from, begin - from));
        if (space == 0) break;
        begin -= space;
      }
      while (token.rstrip) {
        const size_t space = white_space_at_start(text.substr(end));
        if (space == 0) break;
        end += space;
      }
      match = {begin, end, &token};
      return true;
    }
  }
  return false;
}

}  // namespace nine
