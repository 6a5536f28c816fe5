#include "apps/cli/text_table.h"

#include <algorithm>

#include "core/error.h"
#include "core/number_format.h"

namespace nine::app {
namespace {

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    require(widths.empty() || row.size() == widths.size(), "[text_table] a row of ", row.size(),
            " cells in a table of ", widths.size(), " columns");
    widths.resize(row.size());
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], characters(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - characters(row[c]), ' ');
      line += c == 0 ? row[c] + space : "  " + space + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string p_text(double p) { return p < 0.0001 ? "<0.0001" : fixed(p, 4); }

}  // namespace nine::app
