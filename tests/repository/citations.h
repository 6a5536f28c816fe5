// Checkers of what pages and the code's comments cite, and of what pages say. Each returns
// complaints, "FILE:LINE: what is missing".
#pragma once

#include <string>
#include <vector>

#include "tests/repository/pages.h"

namespace nine::tests {

/// Links to files or headings that are not there.
std::vector<std::string> broken_links(const Tree& tree);
/// Paths in backticks, meant to be of this tree, that are not there.
std::vector<std::string> missing_paths(const Tree& tree);
/// Pages and sections that comments of code name and that are not there.
std::vector<std::string> missing_citations(const Tree& tree);
/// Paths that lie outside of the repository.
std::vector<std::string> outside_paths(const Tree& tree);
/// Pages and figures that no chain of links from docs/README.md leads to.
std::vector<std::string> unreached_pages(const Tree& tree);
/// File names with other characters than A-Z a-z 0-9 . _ -, or that differ in case only.
std::vector<std::string> bad_names(const Tree& tree);
/// Words of pages that belong to git's history: commit ids and the like.
std::vector<std::string> words_of_history(const Tree& tree);

}  // namespace nine::tests
