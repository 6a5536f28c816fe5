// Lower case of Unicode text, as the scores of translations need it (`lowercase`).
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// `text`, valid UTF-8, in lower case: what Python's str.lower() gives with Unicode 14, independent
/// of the locale. A capital sigma that ends a word becomes the final one; for that, letters are
/// those that have two cases, and what may stand within a word is . : ' and their like and the
/// combining accents U+0300-036F.
std::string lower_case(std::string_view text);

}  // namespace nine
