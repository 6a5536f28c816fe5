// Input in messages.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// A text that a message quotes, for concat(), require() and fail(), which shorten it only when the
/// message is made. It points to the text.
struct Quote {
  std::string_view text;
};
inline Quote quote(std::string_view text) { return {text}; }

/// At most 60 characters of a text, the last a … where something is left out.
std::string shortened(std::string_view text);
/// The same between apostrophes.
std::string to_text(const Quote& quote);

}  // namespace nine
