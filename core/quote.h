// Quotes of input in messages.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// A text that a message quotes: an argument of concat(), require() and fail(). The text is
/// shortened only when the message is made. A Quote does not own the text.
struct Quote {
  std::string_view text;
};
inline Quote quote(std::string_view text) { return {text}; }

/// Returns the text, or, if it has more than 60 characters, its first 59 and "…".
std::string shortened(std::string_view text);
/// Returns the shortened text between apostrophes.
std::string to_text(const Quote& quote);

}  // namespace nine
