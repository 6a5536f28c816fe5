// HTML tables that screen readers can follow and phones can scroll.
#pragma once

#include <string>
#include <vector>

namespace nine::app {

/// A table of text; cells of the first column name their row. All texts are HTML already.
struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool numbers = true;  // columns after the first are right-aligned
  int marked_row = -1;  // highlighted; none when negative

  /// Leaves out columns (but the first) whose cells are all empty or a dash.
  void drop_empty_columns();
};

/// The table in a region that scrolls sideways where the page is narrow.
std::string table_html(const Table& table);

/// `content` that a click on the line `summary` shows and hides; both are HTML.
std::string folded(const std::string& summary, const std::string& content);

}  // namespace nine::app
