// What the pages and the code's comments cite is there: linked files and headings, paths in
// backticks, pages and their sections. Each checker returns complaints, "FILE:LINE: what is
// missing", and is first tried on made-up texts.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// ---- A source tree ----

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

// What git would not track: .gitignore's patterns, and what editors leave.
bool is_left_out(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "__pycache__" || name.ends_with(".tmp") || name.ends_with(".swp") ||
      name.ends_with('~'))
    return true;
  static const std::set<std::string> top{".git", ".device", ".gpu", ".cache", ".vscode", "runs"};
  return path.parent_path() == fs::path(NINE_SOURCE_DIR) &&
         (top.contains(name) || name.starts_with("build"));
}

const Tree& this_tree() {
  static const Tree tree = [] {
    Tree t;
    for (auto it = fs::recursive_directory_iterator(NINE_SOURCE_DIR);
         it != fs::recursive_directory_iterator(); ++it) {
      if (is_left_out(it->path())) {
        it.disable_recursion_pending();
        continue;
      }
      if (!it->is_regular_file()) continue;
      std::ifstream in(it->path(), std::ios::binary);
      t.files[it->path().lexically_relative(NINE_SOURCE_DIR).generic_string()] = {
          std::istreambuf_iterator<char>(in), {}};
    }
    return t;
  }();
  return tree;
}

bool is_code(const std::string& path) {
  static const std::set<std::string> ends{".h",     ".cpp", ".cu",  ".cuh", ".sh",
                                          ".cmake", ".py",  ".awk", ".in"};
  const fs::path p(path);
  return ends.contains(p.extension().string()) || p.filename() == "CMakeLists.txt" ||
         path == "Makefile" || path == ".ci/run";
}

// The pages that people read.
bool is_page(const std::string& path) {
  return path.ends_with(".md") &&
         (path == "README.md" || path == "CHANGELOG.md" || path == "examples/README.md" ||
          path.starts_with("docs/") || path.starts_with("experiments/"));
}

bool is_in_docs(const std::string& path) {
  return path.starts_with("docs/") || path.starts_with("experiments/");
}

std::string at(const std::string& file, int line) { return file + ":" + std::to_string(line); }

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// "docs" and "../core/x.h": "core/x.h"; nothing where that leaves the tree.
std::optional<std::string> resolved(const std::string& folder, const std::string& path) {
  std::string joined = (fs::path(folder) / path).lexically_normal().generic_string();
  if (joined.starts_with("..") || joined.starts_with("/")) return std::nullopt;
  while (joined.ends_with('/')) joined.pop_back();
  return joined == "." ? std::string() : joined;
}

// ---- Markdown ----

struct Link {
  int line;
  std::string target;
};

struct Span {  // `text`
  int line;
  std::string text;
};

struct Page {
  std::vector<Link> links;
  std::vector<Span> spans;
  std::set<std::string> anchors;    // of headings, by GitHub's rule
  std::vector<std::string> titles;  // of headings, and bold openings of paragraphs
};

// A heading's text as it is shown: links are their text, no backticks, no asterisks.
std::string shown(std::string_view heading) {
  std::string text;
  for (size_t i = 0; i < heading.size(); ++i) {
    const char c = heading[i];
    if (c == '`' || c == '*' || c == '[') continue;
    if (c == ']') {
      if (i + 1 < heading.size() && heading[i + 1] == '(') i = heading.find(')', i);
      if (i == std::string::npos) break;
      continue;
    }
    text += c;
  }
  while (text.ends_with(' ') || text.ends_with('#')) text.pop_back();
  return text;
}

// GitHub's anchor of a heading: lower case, punctuation removed, spaces are hyphens.
std::string slug(const std::string& heading) {
  std::string out;
  const std::string text = lower(heading);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == ' ')
      out += '-';
    else if (byte < 0x80) {
      if (is_word(text[i]) || text[i] == '-') out += text[i];
    } else {
      const int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
      int point = byte & (0x3F >> more);
      for (int k = 1; k <= more && i + static_cast<size_t>(k) < text.size(); ++k)
        point = point << 6 | (text[i + static_cast<size_t>(k)] & 0x3F);
      const bool symbol = point < 0xAA || point == 0xD7 || point == 0xF7 || point == 0xB7 ||
                          (point >= 0x2000 && point < 0x2C00);  // quotes, dashes, arrows, operators
      if (!symbol) out += text.substr(i, static_cast<size_t>(more) + 1);
      i += static_cast<size_t>(more);
    }
  }
  return out;
}

void add_heading(Page& page, const std::string& heading) {
  const std::string base = slug(heading);
  std::string anchor = base;
  for (int n = 1; page.anchors.contains(anchor); ++n) anchor = base + "-" + std::to_string(n);
  page.anchors.insert(anchor);
  page.titles.push_back(heading);
}

// Links and code spans of one line of text.
void read_line(Page& page, const std::string& line, int number) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '`') {
      const size_t ticks = line.find_first_not_of('`', i) - i;
      if (ticks > line.size()) return;
      const size_t end = line.find(std::string(ticks, '`'), i + ticks);
      if (end == std::string::npos) return;  // a span over two lines
      page.spans.push_back({number, line.substr(i + ticks, end - i - ticks)});
      i = end + ticks - 1;
    } else if (line[i] == ']' && i + 1 < line.size() && line[i + 1] == '(') {
      const size_t end = line.find(')', i);
      if (end == std::string::npos) continue;
      std::string target = line.substr(i + 2, end - i - 2);
      target = target.substr(0, target.find(' '));  // without "title"
      if (target.starts_with('<') && target.ends_with('>'))
        target = target.substr(1, target.size() - 2);
      page.links.push_back({number, target});
    }
  }
  const size_t colon = line.starts_with('[') ? line.find("]: ") : std::string::npos;
  if (colon != std::string::npos) page.links.push_back({number, line.substr(colon + 3)});
}

Page read_page(const std::string& text) {
  Page page;
  int number = 0;
  std::string fence;  // that ends the code block which this line is in
  bool blank = true, indented = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const size_t margin = line.find_first_not_of(' ');
    if (margin == std::string::npos) {
      blank = true;
      continue;
    }
    const std::string body = line.substr(margin);
    if (!fence.empty()) {
      if (body.starts_with(fence)) fence.clear();
      continue;
    }
    indented = margin >= 4 && (blank || indented);
    blank = false;
    if (indented) continue;  // a code block
    if (body.starts_with("```") || body.starts_with("~~~")) {
      fence = body.substr(0, 3);
      continue;
    }
    const size_t hashes = body.find_first_not_of('#');
    if (margin < 4 && hashes != std::string::npos && hashes > 0 && hashes <= 6 &&
        body[hashes] == ' ')
      add_heading(page, shown(body.substr(hashes + 1)));
    for (const char* open : {"**", "- **"}) {
      if (!body.starts_with(open)) continue;
      const size_t from = std::string_view(open).size();
      std::string title = shown(body.substr(from, body.find("**", from) - from));
      while (title.ends_with('.') || title.ends_with(':')) title.pop_back();
      page.titles.push_back(title);
    }
    for (const char* attribute : {"id=\"", "name=\""})
      if (const size_t id = body.find(attribute); id != std::string::npos) {
        const size_t from = id + std::string_view(attribute).size();
        page.anchors.insert(body.substr(from, body.find('"', from) - from));
      }
    read_line(page, body, number);
  }
  return page;
}

std::map<std::string, Page> read_pages(const Tree& tree) {
  std::map<std::string, Page> pages;
  for (const auto& [path, text] : tree.files)
    if (is_page(path)) pages[path] = read_page(text);
  return pages;
}

bool is_outside(const std::string& target) {
  return target.find("://") != std::string::npos || target.starts_with("mailto:");
}

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

const std::string kThisFile = "tests/test_citations.cpp";  // it has made-up ones

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

void check_none(const Strings& complaints) {
  for (const std::string& complaint : complaints) CHECK_MESSAGE(false, complaint);
}

// ---- A made-up tree ----

Tree made_up() {
  return {{{"README.md", "# Top\n\n[map](docs/README.md) [core](core/)\n"},
           {"docs/README.md", "# Map\n\n- [a](a.md#the-s-of-w-h) and [b](b.md), ![p](p.png)\n"},
           {"docs/a.md", "# A\n\n## The S of `(w, h)`\n\n`core/x.h`, `core/`, `core/NAME.h`\n"},
           {"docs/b.md", "# B\n\n**A floor.** Text.\n\n## 2. Two\n\n### 2.1 More\n\n[up](#b)\n"},
           {"docs/p.png", ""},
           {"core/x.h", "// docs/b.md, \"A floor\"; docs/b.md (section 2.1), docs/a.md\n"}}};
}

Strings all_complaints(const Tree& tree) {
  Strings all;
  for (const auto checker : {broken_links, missing_paths, missing_citations, outside_paths,
                             unreached_pages, bad_names, words_of_history})
    for (std::string& c : checker(tree)) all.push_back(std::move(c));
  return all;
}

// The one complaint of a tree in which a file is replaced or added.
std::string complaint(const std::string& path, const std::string& text) {
  Tree tree = made_up();
  tree.files[path] = text;
  const Strings all = all_complaints(tree);
  std::string joined;
  for (const std::string& c : all) joined += (joined.empty() ? "" : " | ") + c;
  return joined;
}

}  // namespace

TEST_CASE("citations, the checker: a sound tree has no complaint") {
  check_none(all_complaints(made_up()));
}

TEST_CASE("citations, the checker: links") {
  CHECK(complaint("README.md", "[a](docs/gone.md)") ==
        "README.md:1: link: docs/gone.md is not there");
  CHECK(complaint("README.md", "\n\n[a](docs/a.md#gone)") ==
        "README.md:3: link: docs/a.md has no heading #gone");
  CHECK(complaint("README.md", "[a](../x)") == "README.md:1: link: ../x leaves the source tree");
  CHECK(complaint("README.md", "[a]: docs/gone.md") ==
        "README.md:1: link: docs/gone.md is not there");
  CHECK(complaint("README.md", "# One\n[a](#two)") ==
        "README.md:2: link: README.md has no heading #two");
  CHECK(complaint("CHANGELOG.md", "![a](b.png)") == "CHANGELOG.md:1: link: b.png is not there");
  // Code has none, and other sites are not visited.
  CHECK(
      complaint("README.md", "`[a](b)` [c](https://d.e/f#g)\n\n    [&](int x)\n\n```\n[h](i)\n```")
          .empty());
}

TEST_CASE("citations, the checker: GitHub's anchors") {
  CHECK(slug("The paper's formulas, and where they are") ==
        "the-papers-formulas-and-where-they-are");
  CHECK(slug(shown("`lm_train` – [a](b.md) × 2.1")) == "lm_train--a--21");
  CHECK(slug(shown("π and ε: *both*")) == "π-and-ε-both");
  const Page page = read_page("# One\n## One\n```\n# Two\n```\n<a id=\"three\"></a>\n");
  CHECK(page.anchors == std::set<std::string>{"one", "one-1", "three"});
}

TEST_CASE("citations, the checker: paths in backticks") {
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/y.h`") ==
        "docs/a.md:2: `core/y.h` is not there");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/gone/`") ==
        "docs/a.md:2: `core/gone/` is not there");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/x.h:12` `runs/lm/x.json` `a/b` `core/*.h`")
            .empty());
}

TEST_CASE("citations, the checker: pages and sections in comments") {
  CHECK(complaint("core/y.h", "//\n// see docs/gone.md") ==
        "core/y.h:2: docs/gone.md is not there");
  CHECK(complaint("Makefile", "# docs/b.md (\"The floor\")") ==
        "Makefile:1: docs/b.md has no section \"The floor\"");
  CHECK(complaint("core/y.h", "// docs/b.md, section 3.2.\n") ==
        "core/y.h:1: docs/b.md has no section 3.2");
  CHECK(complaint("core/y.h", "// docs/a.md#gone.\n") ==
        "core/y.h:1: docs/a.md has no heading #gone");
  CHECK(complaint("core/y.h", "// (docs/b.md,\n//   \"a\n// ceiling\")") ==
        "core/y.h:1: docs/b.md has no section \"a ceiling\"");
  CHECK(
      complaint("core/y.h", "// docs/b.md,\n/// \"a floor\"; docs/a.md#the-s-of-w-h, docs/NAME.md")
          .empty());
}

TEST_CASE("citations, the checker: paths outside of the repository") {
  const std::string shared = std::string("../") + "shared", here = std::string("/wo") + "rk/x";
  CHECK(complaint("core/y.h", "\n" + shared + "/data") ==
        "core/y.h:2: names " + shared + ", which is not in the repository");
  CHECK(complaint("core/y.h", "cd " + here).starts_with("core/y.h:1: names "));
  CHECK(complaint(".ci/run", shared).empty());
  CHECK(complaint("core/y.h", "$network/work/x").empty());
}

TEST_CASE("citations, the checker: a page without a way to it") {
  CHECK(complaint("docs/c.md", "# C") == "docs/c.md:1: no link leads here from docs/README.md");
  CHECK(complaint("experiments/c.html", "") ==
        "experiments/c.html:1: no link leads here from docs/README.md");
}

TEST_CASE("citations, the checker: names of files") {
  CHECK(complaint("core/a b.h", "") == "core/a b.h: a name has only A-Z a-z 0-9 . _ -");
  CHECK(complaint("core/X.h", "") == "core/x.h: differs from core/X.h in case only");
  CHECK(complaint("Core/y.h", "").ends_with(" in case only"));
}

TEST_CASE("citations, the checker: words of git's history") {
  CHECK(complaint("docs/a.md", "# The S of (w, h)\nIn one\nsitting.") ==
        "docs/a.md:2: \"one sitting\", which belongs to git's history");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`cc95835`") ==
        "docs/a.md:2: the commit id cc95835, which belongs to git's history");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\nat commit cc95835a") ==
        "docs/a.md:2: the commit id cc95835a, which belongs to git's history");
  CHECK(
      complaint("docs/a.md", "# The S of (w, h)\n`1234567` `effaced` cc95835 is sitting").empty());
}

TEST_CASE("citations: links lead to files and headings") {
  const auto pages = read_pages(this_tree());
  size_t links = 0;
  for (const auto& [path, page] : pages) links += page.links.size();
  CHECK(pages.size() > 30);
  CHECK(links > 100);
  check_none(broken_links(this_tree()));
}

TEST_CASE("citations: paths in backticks are there") { check_none(missing_paths(this_tree())); }

TEST_CASE("citations: pages and sections that code names are there") {
  check_none(missing_citations(this_tree()));
}

TEST_CASE("citations: nothing lies outside of the repository") {
  check_none(outside_paths(this_tree()));
}

TEST_CASE("citations: docs/README.md leads to every page") {
  check_none(unreached_pages(this_tree()));
}

TEST_CASE("citations: names of files are plain") { check_none(bad_names(this_tree())); }

TEST_CASE("citations: pages say what is so now") { check_none(words_of_history(this_tree())); }
