// The repository's files as text, and its Markdown pages as headings, links and code spans.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nine::tests {

/// A source tree.
struct Tree {
  std::map<std::string, std::string> files;  // path from the root: text
  bool has_folder(std::string path) const {
    if (!path.ends_with('/')) path += '/';
    const auto it = files.lower_bound(path);
    return it != files.end() && it->first.starts_with(path);
  }
  bool has(const std::string& path) const {
    return path.empty() || files.contains(path) || has_folder(path);
  }
  bool has_top_folder(std::string_view path) const {
    const size_t slash = path.find('/');
    return slash != std::string::npos && slash > 0 &&
           has_folder(std::string(path.substr(0, slash)));
  }
};

struct Link {
  int line;
  std::string target;
};

/// Code, `text`.
struct Span {
  int line;
  std::string text;
};

struct Page {
  std::vector<Link> links;
  std::vector<Span> spans;
  std::set<std::string> anchors;    // of headings, by GitHub's rule
  std::vector<std::string> titles;  // of headings, and bold openings of paragraphs
};

/// This repository's, without what git would not track.
const Tree& this_tree();

/// Whether a path is a source file, a script or a build file.
bool is_code(const std::string& path);

/// The pages that people read.
bool is_page(const std::string& path);

/// Whether a path is in docs/ or experiments/.
bool is_in_docs(const std::string& path);

/// "FILE:LINE".
std::string at(const std::string& file, int line);

/// A letter of ASCII, a digit or _.
bool is_word(char c);

/// ASCII in lower case.
std::string lower(std::string text);

/// "docs" and "../core/x.h": "core/x.h"; nothing where that leaves the tree.
std::optional<std::string> resolved(const std::string& folder, const std::string& path);

/// A heading's text as it is shown: links are their text, no backticks, no asterisks.
std::string shown(std::string_view heading);

/// GitHub's anchor of a heading: lower case, punctuation removed, spaces are hyphens.
std::string slug(const std::string& heading);

/// A Markdown page.
Page read_page(const std::string& text);

/// All of the tree's, by path.
std::map<std::string, Page> read_pages(const Tree& tree);

/// Whether a link leads to another site.
bool is_outside(const std::string& target);

}  // namespace nine::tests
