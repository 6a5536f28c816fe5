#include "tests/repository/pages.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace nine::tests {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

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

bool is_page(const std::string& path) {
  return path.ends_with(".md") && (path == "README.md" || path == "CHANGELOG.md" ||
                                   path == "CONTRIBUTING.md" || path == "examples/README.md" ||
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

std::optional<std::string> resolved(const std::string& folder, const std::string& path) {
  std::string joined = (fs::path(folder) / path).lexically_normal().generic_string();
  if (joined.starts_with("..") || joined.starts_with("/")) return std::nullopt;
  while (joined.ends_with('/')) joined.pop_back();
  return joined == "." ? std::string() : joined;
}

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

namespace {

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

}  // namespace

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

}  // namespace nine::tests
