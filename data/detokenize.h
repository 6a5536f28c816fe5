// Text from tokenised text: joins punctuation marks, quotes and parts of words to their neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// The tokeniser whose splits detokenize() undoes.
enum class Detokenizing : uint8_t { none, moses, mteval_13a };
template <>
inline constexpr EnumNames<Detokenizing, 3> kEnumNames<Detokenizing>{
    "detokenising",
    {{{Detokenizing::none, "none"},
      {Detokenizing::moses, "moses"},
      {Detokenizing::mteval_13a, "13a"}}}};

/// Settings of detokenize().
struct DetokenizeOptions {
  Detokenizing rules = Detokenizing::none;
  /// ISO 639-1 code of the text's language. These languages have rules of their own for `moses`: en
  /// (contractions), fr, it, ca and ga (apostrophes; fr also spaces before : ; ! ?), ko (spaces
  /// between all words).
  std::string language = "en";
};

/// Error: a language is not a code of two small letters.
void check_language(const std::string& language);

/// Returns a line of words, separated by spaces and tabs, as prose (docs/detokenizing.md has the
/// rules). `moses` undoes the tokeniser of Moses, with its escapes such as &quot;, hyphens @-@,
/// and contractions as the Penn Treebank splits them (do n't). `mteval_13a` undoes tokenize_13a().
/// With `none`, returns the line as it is.
std::string detokenize(std::string_view line, const DetokenizeOptions& options);

}  // namespace nine
