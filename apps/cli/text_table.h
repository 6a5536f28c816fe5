// Formats tables as plain text for a terminal.
#pragma once

#include <string>
#include <vector>

namespace nine::app {

/// Returns the table of rows of cells, the header first. All rows must have the same number of
/// cells. The first column is aligned left, the others right, with two spaces between columns.
/// Widths are in characters of UTF-8.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// Returns a p value with four decimals, or "<0.0001".
std::string p_text(double p);

}  // namespace nine::app
