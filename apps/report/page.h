// The frame of the report page: head, style and script around the content.
#pragma once

#include <string>

namespace nine::report {

/// The style sheet: light and dark, wide and narrow.
extern const char* const kStyle;
/// The script: a crosshair with exact values by pointer and arrow keys, words of a map by pointer,
/// arrow keys and name. The page says everything important without it.
extern const char* const kScript;

/// A whole HTML page that fetches nothing. `title` is text, `body` is HTML.
std::string page_html(const std::string& title, const std::string& body);

}  // namespace nine::report
