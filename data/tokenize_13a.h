// The tokenisation of mteval-v13a, the script of the WMT evaluations, as in sacreBLEU's tokenizer
// `13a`.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// Returns the words of a line of raw text, separated by single spaces. `line` is valid UTF-8
/// without its line feed. ASCII punctuation marks become words, with three exceptions. An
/// apostrophe stays in its word. A hyphen becomes a word only after a digit. . and , stay between
/// two digits. Other punctuation marks, such as quotation marks outside of ASCII, stay, too. &quot;
/// &amp; &lt; &gt; become characters, and <skipped> is dropped. Every kind of Unicode white space
/// separates words.
std::string tokenize_13a(std::string_view line);

}  // namespace nine
