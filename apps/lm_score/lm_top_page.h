// lm_score --compare A B --top N: a page that shows side by side the words that two models expected
// at some places of a text.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"

namespace nine::app {

/// A place in a text: a line and a word of the line, both from 1. The word after the last word is
/// the end of the sentence.
struct TextPlace {
  int64_t line = 0, position = 0;

  /// Parses "12:5". UsageError: another form.
  static TextPlace parse(const std::string& text);
};

/// The settings of the page.
struct TopPageOptions {
  int64_t top = 5;              ///< number of likeliest words to show for each model
  std::vector<std::string> at;  ///< places to show; empty: every word of the text
  int64_t batch_tokens = 4096;
  Device device;
};

/// Writes an HTML page. For each place it shows the sentence with the word marked and, for both
/// models, the word's probability, its rank, and the likeliest words. Errors: a place outside of
/// the text; more than 1,000 places.
void write_top_page(const std::string& a, const std::string& b, std::span<const std::string> lines,
                    const TopPageOptions& options, std::ostream& out);

}  // namespace nine::app
