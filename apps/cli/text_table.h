// Tables as plain text, for people at a terminal.
#pragma once

#include <string>
#include <vector>

namespace nine::app {

/// Rows of cells, the header first; every row has as many cells. The first column is aligned left,
/// the others right, with two spaces between columns. Widths are counted in characters of UTF-8.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// A p value: four decimals, "<0.0001" below.
std::string p_text(double p);

}  // namespace nine::app
