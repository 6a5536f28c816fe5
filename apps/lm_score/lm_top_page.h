// lm_score --compare A B --top N: what two models would have said at some places of a text, side by
// side, as a page.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"

namespace nine::app {

/// A place of a text: a line and a word of it, both from 1; the word after the last is the end of
/// the sentence.
struct TextPlace {
  int64_t line = 0, position = 0;

  /// "12:5". UsageError: not of that form.
  static TextPlace parse(const std::string& text);
};

/// What the page shows.
struct TopPageOptions {
  int64_t top = 5;              ///< likeliest words of each model
  std::vector<std::string> at;  ///< places; none: every word of the text
  int64_t batch_tokens = 4096;
  Device device;
};

/// Writes an HTML page with, for each place, the sentence with its word marked, and for both models
/// the word's probability and rank and the likeliest words. Errors: a place that the text does not
/// have; more than 1,000 places.
void write_top_page(const std::string& a, const std::string& b, std::span<const std::string> lines,
                    const TopPageOptions& options, std::ostream& out);

}  // namespace nine::app
