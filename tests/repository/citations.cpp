#include "tests/repository/citations.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

namespace nine::tests {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

namespace {

// ---- (a) Links ----

std::string anchor_complaint(const Tree& tree, const std::string& path, const std::string& anchor) {
  const std::string& text = tree.files.at(path);
  if (path.ends_with(".md")) {
    if (read_page(text).anchors.contains(anchor)) return {};
    return path + " has no heading #" + anchor;
  }
  if (path.ends_with(".html"))
    return text.find("id=\"" + anchor + "\"") != std::string::npos ? ""
                                                                   : path + " has no id " + anchor;
  return "an anchor #" + anchor + " in " + path + ", which is no page";
}

}  // namespace

Strings broken_links(const Tree& tree) {
  Strings complaints;
  for (const auto& [path, page] : read_pages(tree))
    for (const Link& link : page.links) {
      if (is_outside(link.target)) continue;
      const size_t hash = link.target.find('#');
      const std::string file = link.target.substr(0, hash);
      const auto to = file.empty() ? std::optional<std::string>(path)
                                   : resolved(fs::path(path).parent_path().string(), file);
      std::string complaint;
      if (!to)
        complaint = link.target + " leaves the source tree";
      else if (!tree.has(*to))
        complaint = link.target + " is not there";
      else if (hash != std::string::npos && tree.files.contains(*to))
        complaint = anchor_complaint(tree, *to, link.target.substr(hash + 1));
      if (!complaint.empty()) complaints.push_back(at(path, link.line) + ": link: " + complaint);
    }
  return complaints;
}

namespace {

// ---- (b) Paths in backticks ----

// A path of this tree, or one that was meant to be: it begins with a folder at the top and ends in
// "/" or in an extension of source files. NAME, * and <...> stand for other names.
bool looks_like_ours(const Tree& tree, const std::string& text) {
  if (text.find_first_of(" *<>{}$()=,\"…") != std::string::npos ||
      text.find("NAME") != std::string::npos || text.find("PAGE") != std::string::npos ||
      !tree.has_top_folder(text))
    return false;
  static const std::set<std::string> ends{".h",    ".cpp", ".cu",  ".cuh",  ".sh",  ".cmake",
                                          ".py",   ".md",  ".txt", ".html", ".css", ".js",
                                          ".json", ".in",  ".awk", ".svg",  ".png", ".jsonl"};
  return text.ends_with('/') || ends.contains(fs::path(text).extension().string());
}

// Files that a page tells its reader to write.
const std::set<std::string> kToBeWritten{"kernels/scores/rat.h"};

}  // namespace

Strings missing_paths(const Tree& tree) {
  Strings complaints;
  for (const auto& [path, page] : read_pages(tree))
    for (const Span& span : page.spans) {
      const std::string named = span.text.substr(0, span.text.find_first_of("#:"));
      if (looks_like_ours(tree, named) && !tree.has(*resolved("", named)) &&
          !kToBeWritten.contains(named))
        complaints.push_back(at(path, span.line) + ": `" + span.text + "` is not there");
    }
  return complaints;
}

namespace {

// ---- (c) Pages and sections cited by code ----

// A file's text with its lines joined, a space in the place of each line's end and the next one's
// margin and comment signs; and the number of the line that each character is of.
struct Joined {
  std::string text;
  std::vector<int> line;
};

Joined joined(const std::string& text) {
  Joined out;
  int number = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      out.text += text[i];
      out.line.push_back(number);
      continue;
    }
    ++number;
    out.text += ' ';
    out.line.push_back(number);
    const size_t after = std::min(text.find_first_not_of(" \t/#*", i + 1), text.size());
    if (after > i + 1 && text.find('\n', i + 1) >= after) i = after - 1;
  }
  return out;
}

// What is said of a section behind a page's name: `, "Title"`, ` ("Title")`, `, section 3.2`.
struct Section {
  std::string title, number;
};

std::optional<Section> section_behind(std::string_view rest) {
  size_t i = 0;
  while (i < rest.size() && i < 3 && (rest[i] == ',' || rest[i] == ' ' || rest[i] == '(')) ++i;
  if (i == 0) return std::nullopt;
  rest.remove_prefix(i);
  if (rest.starts_with('"')) {
    const size_t end = rest.find('"', 1);
    if (end == std::string::npos || end < 3) return std::nullopt;
    return Section{std::string(rest.substr(1, end - 1)), {}};
  }
  if (!rest.starts_with("section ")) return std::nullopt;
  rest.remove_prefix(8);
  size_t end = 0;
  while (end < rest.size() && (rest[end] == '.' || (rest[end] >= '0' && rest[end] <= '9'))) ++end;
  std::string number(rest.substr(0, end));
  while (number.ends_with('.')) number.pop_back();
  if (number.empty()) return std::nullopt;
  return Section{{}, number};
}

bool has_section(const Page& page, const Section& section) {
  return std::any_of(page.titles.begin(), page.titles.end(), [&](const std::string& title) {
    if (!section.title.empty()) return lower(title) == lower(shown(section.title));
    return title == section.number || title.starts_with(section.number + " ") ||
           title.starts_with(section.number + ". ");
  });
}

Strings citations_of(const Tree& tree, const std::string& path, const std::string& text) {
  Strings complaints;
  const Joined all = joined(text);
  for (size_t dot = all.text.find(".md"); dot != std::string::npos;
       dot = all.text.find(".md", dot + 1)) {
    const size_t end = dot + 3;
    if (end < all.text.size() && is_word(all.text[end])) continue;
    size_t begin = dot;
    while (begin > 0 && (is_word(all.text[begin - 1]) || all.text[begin - 1] == '/' ||
                         all.text[begin - 1] == '.' || all.text[begin - 1] == '-'))
      --begin;
    const std::string page = all.text.substr(begin, end - begin);
    const bool named = page.starts_with("docs/") || page.starts_with("experiments/") ||
                       page.starts_with("examples/");
    if (!named || page.find("NAME") != std::string::npos || page.find("PAGE") != std::string::npos)
      continue;
    const std::string where = at(path, all.line[begin]) + ": ";
    if (!tree.files.contains(page)) {
      complaints.push_back(where + page + " is not there");
      continue;
    }
    const std::string rest = all.text.substr(end, 200);
    const Page read = read_page(tree.files.at(page));
    if (rest.starts_with('#')) {
      size_t stop = 1;
      while (stop < rest.size() && (is_word(rest[stop]) || rest[stop] == '-')) ++stop;
      if (!read.anchors.contains(rest.substr(1, stop - 1)))
        complaints.push_back(where + page + " has no heading " + rest.substr(0, stop));
    } else if (const auto section = section_behind(rest); section && !has_section(read, *section)) {
      complaints.push_back(where + page + " has no section " + section->number +
                           (section->title.empty() ? "" : "\"" + section->title + "\""));
    }
  }
  return complaints;
}

}  // namespace

const std::string kThisFile = "tests/repository/test_citations.cpp";  // it has made-up ones

Strings missing_citations(const Tree& tree) {
  Strings complaints;
  for (const auto& [path, text] : tree.files)
    if (is_code(path) && path != kThisFile)
      for (std::string& c : citations_of(tree, path, text)) complaints.push_back(std::move(c));
  return complaints;
}

// ---- (d) Nothing from outside the repository ----
Strings outside_paths(const Tree& tree) {
  // In two parts each, so that this file does not have them.
  const Strings words{std::string("../") + "shared", std::string("/wo") + "rk/"};
  Strings complaints;
  for (const auto& [path, text] : tree.files) {
    if (path == ".ci/run") continue;
    for (const std::string& word : words)
      for (size_t i = text.find(word); i != std::string::npos; i = text.find(word, i + 1)) {
        const char before = i > 0 ? text[i - 1] : ' ';
        if (word.starts_with('/') && (is_word(before) || before == '}' || before == '.')) continue;
        const auto line = std::count(text.begin(), text.begin() + static_cast<long>(i), '\n') + 1;
        complaints.push_back(at(path, static_cast<int>(line)) + ": names " + word +
                             ", which is not in the repository");
      }
  }
  return complaints;
}

// ---- (e) Each page is reached ----
Strings unreached_pages(const Tree& tree) {
  const std::string map = "docs/README.md";
  if (!tree.files.contains(map)) return {map + " is not there"};
  std::set<std::string> reached{map};
  Strings open{map};
  while (!open.empty()) {
    const std::string path = open.back();
    open.pop_back();
    for (const Link& link : read_page(tree.files.at(path)).links) {
      if (is_outside(link.target)) continue;
      const std::string file = link.target.substr(0, link.target.find('#'));
      const auto to = resolved(fs::path(path).parent_path().string(), file);
      if (!to || file.empty()) continue;
      // A link to a folder shows its README.md.
      const std::string page = tree.files.contains(*to) ? *to : *to + "/README.md";
      if (tree.files.contains(page) && reached.insert(page).second && page.ends_with(".md"))
        open.push_back(page);
    }
  }
  Strings complaints;
  for (const auto& [path, text] : tree.files)
    if (is_in_docs(path) && (path.ends_with(".md") || path.ends_with(".html")) &&
        !reached.contains(path))
      complaints.push_back(path + ":1: no link leads here from " + map);
  return complaints;
}

// ---- (f) Names of files ----
Strings bad_names(const Tree& tree) {
  Strings complaints;
  std::map<std::string, std::string> seen;  // in lower case: as it is
  for (const auto& [path, text] : tree.files) {
    for (const char c : path)
      if (!is_word(c) && c != '.' && c != '-' && c != '/') {
        complaints.push_back(path + ": a name has only A-Z a-z 0-9 . _ -");
        break;
      }
    static const std::regex device(R"((^|/)(con|prn|aux|nul|com[1-9]|lpt[1-9])(\.[^/]*)?(/|$))",
                                   std::regex::icase);
    if (std::regex_search(path, device) || path.ends_with('.'))
      complaints.push_back(path + ": a name that Windows keeps for itself");
    // Folders too: "A/x" and "a/y" are one folder to some file systems.
    for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      const auto [it, first] = seen.emplace(lower(part), part);
      if (!first && it->second != part)
        complaints.push_back(path + ": differs from " + it->second + " in case only");
      if (end == std::string::npos) break;
    }
  }
  return complaints;
}

namespace {

// ---- (g) A page says what is so now ----

bool is_commit_id(std::string_view text) {
  if (text.size() < 7 || text.size() > 40) return false;
  bool letter = false, digit = false;
  for (const char c : text) {
    if (c >= 'a' && c <= 'f')
      letter = true;
    else if (c >= '0' && c <= '9')
      digit = true;
    else
      return false;
  }
  return letter && digit;
}

}  // namespace

Strings words_of_history(const Tree& tree) {
  static const Strings words{
      "one sitting", "a sitting", "this sitting", "sittings", "the first state that ran",
      "this session"};
  Strings complaints;
  for (const auto& [path, text] : tree.files) {
    if (!is_in_docs(path) || !path.ends_with(".md")) continue;
    const auto complain = [&, &path = path](int line, const std::string& what) {
      complaints.push_back(at(path, line) + ": " + what + ", which belongs to git's history");
    };
    const Joined all = joined(text);
    const std::string small = lower(all.text);
    for (const std::string& word : words)
      for (size_t i = small.find(word); i != std::string::npos; i = small.find(word, i + 1))
        if ((i == 0 || !is_word(small[i - 1])) &&
            (i + word.size() == small.size() || !is_word(small[i + word.size()])))
          complain(all.line[i], "\"" + word + "\"");
    for (size_t i = 0; i < small.size(); ++i) {
      if (!is_word(small[i]) || (i > 0 && is_word(small[i - 1]))) continue;
      size_t end = i;
      while (end < small.size() && is_word(small[end])) ++end;
      const std::string word = all.text.substr(i, end - i);
      const bool quoted = i > 0 && small[i - 1] == '`' && end < small.size() && small[end] == '`';
      const std::string before = small.substr(i > 8 ? i - 8 : 0, std::min<size_t>(i, 8));
      if (is_commit_id(word) &&
          (quoted || before.ends_with("commit ") || before.ends_with("commit `")))
        complain(all.line[i], "the commit id " + word);
      i = end - 1;
    }
  }
  return complaints;
}

}  // namespace nine::tests
