// Lower case of Unicode text, as the scores of translations need it (`lowercase`).
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// Returns `text`, valid UTF-8, in lower case as Python's str.lower() does with Unicode 14,
/// whatever the locale is. A capital sigma at the end of a word becomes a final sigma, by Unicode's
/// rule Final_Sigma with smaller classes. Here the cased letters are those that have two cases.
/// Case-ignorable are nine punctuation marks, such as . : and ', and the combining accents
/// U+0300-036F.
std::string lower_case(std::string_view text);

}  // namespace nine
