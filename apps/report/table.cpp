#include "apps/report/table.h"

#include <algorithm>
#include <cstddef>

#include "core/error.h"

namespace nine::app {
namespace {

std::string row_html(const std::vector<std::string>& cells, bool marked) {
  std::string out = marked ? "<tr class=\"marked\">" : "<tr>";
  for (size_t i = 0; i < cells.size(); ++i)
    out += i == 0 ? "<th scope=\"row\">" + cells[i] + "</th>" : "<td>" + cells[i] + "</td>";
  return out + "</tr>\n";
}

// HTML without its tags, for an attribute.
std::string without_tags(const std::string& html) {
  std::string out;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) out += c;
    if (c == '>') inside = false;
  }
  return out;
}

}  // namespace

void Table::drop_empty_columns() {
  const auto empty = [](const std::string& cell) { return cell.empty() || cell == "–"; };
  for (size_t c = columns.size(); c-- > 1;) {
    if (!std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return empty(row[c]); }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
}

std::string table_html(const Table& table) {
  // Focusable, so that the arrow keys can scroll it.
  std::string out =
      concat("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
             without_tags(table.caption), "\">\n<table", table.numbers ? " class=\"numbers\"" : "",
             ">\n<caption>", table.caption, "</caption>\n<thead><tr>");
  for (const std::string& column : table.columns) out += "<th scope=\"col\">" + column + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < table.rows.size(); ++r)
    out += row_html(table.rows[r], static_cast<int>(r) == table.marked_row);
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string folded(const std::string& summary, const std::string& content) {
  return "<details>\n<summary>" + summary + "</summary>\n" + content + "</details>\n";
}

}  // namespace nine::app
