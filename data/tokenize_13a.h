// The tokenisation of mteval-v13a, the script of the WMT evaluations, as in sacreBLEU's tokenizer
// `13a`.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// The words of a line of raw text, separated by single spaces. `line` is valid UTF-8 without its
/// line feed. Punctuation becomes words, but . and , inside a number and - after a letter; &quot;
/// &amp; &lt; &gt; become characters, <skipped> is dropped; every kind of Unicode white space
/// separates.
std::string tokenize_13a(std::string_view line);

}  // namespace nine
