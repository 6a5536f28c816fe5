// Lower case of Unicode text, as the scores of translations need it (`lowercase`).
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// `text`, valid UTF-8, in lower case: what Python's str.lower() gives with Unicode 14, independent
/// of the locale. A capital sigma at the end of a word becomes the final one, by Unicode's rule
/// Final_Sigma with smaller classes: cased are the letters that have two cases; case-ignorable are
/// nine punctuation marks such as . : and ', and the combining accents U+0300-036F.
std::string lower_case(std::string_view text);

}  // namespace nine
