// The order of the folders (docs/architecture.md): which may include which, and how headers begin.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace nine::tests::test_layout {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"core", {}},
      {"cuda", {"core"}},
      {"mpi", {"core"}},
      {"autograd", {"core"}},
      {"kernels", {"core", "autograd"}},
      {"kernels/cuda", {"core", "cuda", "kernels"}},
      {"data", {"core"}},
      {"nn", {"core", "autograd", "kernels", "data"}},
      {"checks", {"core", "autograd", "kernels", "examples"}},
      {"apps", {"core", "cuda", "autograd", "kernels", "kernels/cuda", "data", "nn", "checks"}},
      {"tests",
       {"core", "checks", "cuda", "autograd", "kernels", "kernels/cuda", "data", "nn", "apps",
        "examples"}},
  };
  return table;
}

// The row of the table that a path from the repository's root belongs to.
std::string row_of(const std::string& path) {
  const std::string top = path.substr(0, path.find('/'));
  return top == "kernels" && path.find("/cuda/") != std::string::npos ? "kernels/cuda" : top;
}

// The files of one row: those of "kernels/cuda" are not among those of "kernels".
std::vector<fs::path> sources(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(NINE_SOURCE_DIR) /
                                                            folder.substr(0, folder.find('/')))) {
    const std::string end = entry.path().extension().string();
    const std::string path = entry.path().lexically_relative(NINE_SOURCE_DIR).generic_string();
    // A project of somebody else's: its own headers are found from its own folder.
    if (path.starts_with("tests/install/consumer/")) continue;
    if (entry.is_regular_file() && row_of(path) == folder &&
        (end == ".h" || end == ".cpp" || end == ".cu" || end == ".cuh"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Include {
  int line;
  bool ours;  // in quotes
  std::string path;
};

std::vector<Include> includes(const fs::path& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Include> all;
  std::ifstream in(file);
  std::smatch match;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (std::regex_search(line, match, pattern))
      all.push_back({number, match[1] == "\"", match[2]});
  }
  return all;
}

// The types that a file defines outside of functions and other types, by their whole names.
std::vector<std::string> types_of(const fs::path& file) {
  static const std::regex comment_or_text(
      R"re(//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')re"),
      brace(R"(([^{};]*)([{};]))"), space(R"((?:^|\s)namespace ([\w:]*)\s*$)"),
      type(
          R"((?:^|\s)(?:struct|class|union|enum) (?:class )?(?:\w+\([^)]*\) )?(\w+(?:<.*>)?)(?: final)?(?:\s*:[^:][^]*)?\s*$)");
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text = std::regex_replace(text, comment_or_text, "");
  std::vector<std::string> types;
  std::vector<std::string> scopes;  // "": a function's, a type's or an unnamed namespace's
  for (std::sregex_iterator at(text.begin(), text.end(), brace), end; at != end; ++at) {
    const std::string before = (*at)[1], what = (*at)[2];
    std::smatch match;
    if (what == "{") {
      const bool outside = std::find(scopes.begin(), scopes.end(), "") == scopes.end();
      const bool opens = std::regex_search(before, match, space) && match[1].length() > 0;
      scopes.push_back(opens ? match[1].str() + "::" : "");
      if (outside && !opens && std::regex_search(before, match, type)) {
        std::string name;
        for (const std::string& scope : scopes) name += scope;
        types.push_back(name + match[1].str());
      }
    } else if (what == "}") {
      REQUIRE_MESSAGE(!scopes.empty(), file.string());
      scopes.pop_back();
    }
  }
  CHECK_MESSAGE(scopes.empty(), file.string());
  return types;
}

}  // namespace

TEST_CASE("layout: a folder includes only what docs/architecture.md's table allows") {
  int seen = 0;
  for (const auto& row : allowed()) {
    const std::string& folder = row.first;
    const std::vector<fs::path> files = sources(folder);
    CHECK_MESSAGE(!files.empty(), folder);
    for (const fs::path& file : files)
      for (const Include& i : includes(file)) {
        if (!i.ours) continue;
        const std::string to = row_of(i.path);
        ++seen;
        const bool inside = folder != "core" && i.path.starts_with("core/cpu/");
        CHECK_MESSAGE(((to == folder || row.second.contains(to)) && !inside), file.string(), ":",
                      i.line, " includes ", i.path, ", which ", folder, "/ may not");
        CHECK_MESSAGE(fs::exists(fs::path(NINE_SOURCE_DIR) / i.path), file.string(), ":", i.line,
                      " includes ", i.path, " not from the repository's root");
      }
  }
  CHECK(seen > 200);
}

// The rooms of kernels/ with their CPU and CUDA parts; "": what lies directly in kernels/.
TEST_CASE("layout: a room of kernels/ includes only what docs/architecture.md's table allows") {
  const std::map<std::string, std::set<std::string>> rooms = {
      {"", {"scores", "options", "settings"}},
      {"scores", {"", "expression"}},
      {"expression", {"scores"}},
      {"options", {"", "scores"}},
      {"settings", {"", "scores", "expression", "options"}},
      {"loss", {"", "scores", "expression", "options", "settings"}},
      {"decoding", {"", "options", "settings", "loss"}},
  };
  const auto room_of = [](const std::string& path) {
    static const std::regex pattern("kernels/(?:(?!(?:cpu|cuda)/)([a-z_]+)/)?.*");
    std::smatch match;
    return std::regex_match(path, match, pattern) ? match[1].str() : "not in kernels/";
  };
  std::map<std::string, int> files;
  int direct = 0;
  for (const char* folder : {"kernels", "kernels/cuda"})
    for (const fs::path& file : sources(folder)) {
      const std::string path = file.lexically_relative(NINE_SOURCE_DIR).generic_string();
      const std::string room = room_of(path);
      ++files[room];
      if (std::count(path.begin(), path.end(), '/') == 1) ++direct;
      REQUIRE_MESSAGE(rooms.contains(room), path, " is in no room of the table");
      // Replaces the CUDA parts of all rooms.
      if (path == "kernels/cuda/stub.cpp") continue;
      for (const Include& i : includes(file)) {
        if (!i.ours || !i.path.starts_with("kernels/")) continue;
        const std::string to = room_of(i.path);
        CHECK_MESSAGE((to == room || rooms.at(room).contains(to)), path, ":", i.line, " includes ",
                      i.path, ", which its room may not");
      }
    }
  for (const auto& row : rooms) CHECK_MESSAGE(files[row.first] >= 2, row.first);
  CHECK(direct >= 2);
  CHECK(direct <= 12);
}

TEST_CASE("layout: docs/architecture.md and the loss have one drawing of how it is cut") {
  // Lines between `begin`, which is left out, and the next that does not start with `margin`.
  const auto drawing = [](const char* file, const std::string& begin, const std::string& margin) {
    std::ifstream in(fs::path(NINE_SOURCE_DIR) / file);
    std::string line, text;
    while (std::getline(in, line) && line.find(begin) == std::string::npos) {
    }
    while (std::getline(in, line) && (line.empty() || line == "//" || line.starts_with(margin)))
      text += (line.starts_with(margin) ? line.substr(margin.size()) : "") + "\n";
    const size_t first = text.find("  rows: "), last = text.find_last_not_of("\n ");
    REQUIRE_MESSAGE(first != std::string::npos, file, " has no drawing behind ", begin);
    return text.substr(first, last + 1 - first);
  };
  const std::string page =
      drawing("docs/architecture.md", "The [glossary](glossary.md) has", "    ");
  CHECK(page == drawing("kernels/loss/kernel_softmax.cpp", "The loss, block by block", "// "));
  CHECK(page.find("HeadBlock") != std::string::npos);
}

TEST_CASE("layout: no ours in angle brackets") {
  for (const auto& [folder, others] : allowed())
    for (const fs::path& file : sources(folder))
      for (const Include& i : includes(file))
        CHECK_MESSAGE((i.ours || !allowed().contains(row_of(i.path))), file.string(), ":", i.line,
                      " includes <", i.path, ">");
}

TEST_CASE("layout: no CUDA header outside of the folders cuda/") {
  for (const auto& [folder, others] : allowed()) {
    if (folder.ends_with("cuda")) continue;
    for (const fs::path& file : sources(folder))
      for (const Include& i : includes(file)) {
        const bool foreign = !i.ours && (i.path.starts_with("cu") || i.path.starts_with("nccl"));
        CHECK_MESSAGE(!foreign, file.string(), ":", i.line, " includes <", i.path, ">");
      }
  }
}

TEST_CASE("layout: headers are included once") {
  for (const auto& [folder, others] : allowed())
    for (const fs::path& file : sources(folder)) {
      if (file.extension() != ".h" && file.extension() != ".cuh") continue;
      std::ifstream in(file);
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      CHECK_MESSAGE(text.find("\n#pragma once\n") != std::string::npos, file.string());
    }
}

// Two types of one name make no error until one file sees both, but a linker takes the functions of
// one, such as a vector's destructor, for those of the other.
TEST_CASE("layout: a type's name is one header's") {
  std::map<std::string, std::string> seen;
  for (const auto& [folder, others] : allowed())
    for (const fs::path& file : sources(folder)) {
      if (file.extension() != ".h" && file.extension() != ".cuh") continue;
      for (const std::string& type : types_of(file)) {
        const auto added = seen.emplace(type, file.string());
        CHECK_MESSAGE(added.second, type, " of ", file.string(), " is in ", added.first->second,
                      " too");
      }
    }
  CHECK(seen.size() > 300);
  CHECK(seen.contains("nine::NBestHypothesis"));
}

TEST_CASE("layout: a header opens with what it is for") {
  for (const auto& [folder, others] : allowed())
    for (const fs::path& file : sources(folder)) {
      if (file.extension() != ".h" && file.extension() != ".cuh") continue;
      std::ifstream in(file);
      std::string line;
      std::getline(in, line);
      CHECK_MESSAGE((line.starts_with("// ") && line.size() > 10), file.string());
    }
}

TEST_CASE("layout: the public headers are a list that nine.h includes, and include nothing else") {
  const fs::path root(NINE_SOURCE_DIR);
  std::ifstream in(root / "cmake/public_headers.cmake");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  static const std::regex name(R"(([a-z_0-9/]+\.h)[\s)])");
  const size_t begin = text.find("set(nine_public_headers");
  REQUIRE(begin != std::string::npos);
  std::set<std::string> listed;
  for (auto it = std::sregex_iterator(text.begin() + static_cast<long>(begin), text.end(), name);
       it != std::sregex_iterator(); ++it)
    CHECK_MESSAGE(listed.insert((*it)[1]).second, (*it)[1].str(), " is listed twice");
  // What nine.h reaches.
  std::set<std::string> reached{"nn/nine.h"};
  std::vector<std::string> open{"nn/nine.h"};
  while (!open.empty()) {
    const std::string header = open.back();
    open.pop_back();
    REQUIRE_MESSAGE(fs::exists(root / header), header);
    for (const Include& i : includes(root / header)) {
      const bool standard = i.path.find('/') == std::string::npos && !i.path.ends_with(".h");
      CHECK_MESSAGE((i.ours || standard), header, " includes <", i.path,
                    ">: users would need that library's headers");
      if (i.ours && reached.insert(i.path).second) open.push_back(i.path);
    }
  }
  CHECK(reached == listed);
  CHECK(listed.size() > 50);
  // The first of its groups.
  std::ifstream nine(root / "nn/nine.h");
  std::string line;
  int first = 0;
  while (std::getline(nine, line) && !line.starts_with("// Start here: the eight ")) {
  }
  while (std::getline(nine, line) && line.starts_with("#include ")) ++first;
  CHECK(first == 8);
}

namespace {

// Whether a file's text has `word` as a word of its own.
bool names_word(const fs::path& file, const std::string& word) {
  const std::regex whole("(^|[^A-Za-z0-9_])" + word + "([^A-Za-z0-9_]|$)");
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, whole)) return true;
  return false;
}

// Files of these folders whose text has `word` as a word of its own.
std::set<std::string> files_with(const std::string& word, const std::vector<std::string>& folders) {
  std::set<std::string> found;
  for (const std::string& folder : folders)
    for (const fs::path& file : sources(folder))
      if (names_word(file, word)) found.insert(file.string());
  return found;
}

std::string listed(const std::set<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += "\n  " + file;
  return text;
}

}  // namespace

// Each row names an identifier in backticks and, behind " in ", the file that declares it.
TEST_CASE("layout: docs/glossary.md's identifiers are in the files that it names") {
  const std::regex row(R"(^\|[^|]*\|[^|]*\| `([\w:]+)` in `([\w./]+)` \|[^|]*\|$)");
  std::ifstream in(fs::path(NINE_SOURCE_DIR) / "docs/glossary.md");
  int number = 0, rows = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch match;
    if (!line.starts_with("| ") || line.starts_with("| concept ")) continue;
    REQUIRE_MESSAGE(std::regex_match(line, match, row), "docs/glossary.md:", number);
    ++rows;
    const std::string name = match[1], file = match[2];
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 2) {
      end = name.find("::", begin);
      const std::string word = name.substr(begin, end - begin);
      CHECK_MESSAGE(names_word(fs::path(NINE_SOURCE_DIR) / file, word), "docs/glossary.md:", number,
                    ": ", file, " has no ", word);
    }
  }
  CHECK(rows >= 30);
}

// docs/architecture.md, "What a change touches". Counted are the files that name the thing; its
// test and its page come on top.
TEST_CASE("layout: an op on both devices is in at most nine files") {
  for (const char* op : {"bias_dropout_add", "embedding_with_positions", "layer_norm_backward",
                         "log_softmax_backward", "cumsum"}) {
    const auto files = files_with(op, {"core", "cuda", "autograd", "checks"});
    CHECK_MESSAGE(files.size() <= 9, op, " is in", listed(files));
    CHECK_MESSAGE(files.size() >= 5, op, " is in", listed(files));
  }
}

TEST_CASE("layout: a function of one number is in one file, and as an activation in two more") {
  const auto function = files_with("rsqrt", {"core", "cuda", "autograd", "checks"}),
             users = files_with("gelu_tanh", {"kernels", "data", "nn", "apps"});
  // Files of other programs' formats name the activations that these formats have.
  std::set<std::string> activation;
  for (const std::string& file : users)
    if (file.find("/write_") == std::string::npos) activation.insert(file);
  CHECK_MESSAGE(function.size() == 1, listed(function));
  CHECK_MESSAGE(activation.size() == 2, listed(activation));
}

TEST_CASE("layout: an option of the head that counts when a model is used is in few files") {
  const std::vector<std::string> folders{"autograd", "kernels", "nn", "data", "apps"};
  // The norm of contexts is a number of the log, too, and of the checks.
  CHECK_MESSAGE(files_with("context_norm", folders).size() <= 14,
                listed(files_with("context_norm", folders)));
  CHECK_MESSAGE(files_with("word_norm", folders).size() <= 8,
                listed(files_with("word_norm", folders)));
}

TEST_CASE("layout: an optimiser is in one file, a rule of updates in three") {
  for (const char* word : {"AveragedSgd", "LazyAdam"}) {
    const auto files = files_with(word, {"nn"});
    CHECK_MESSAGE(files.size() == 1, word, " is in", listed(files));
  }
  for (const char* word : {"AdamStep", "SgdStep"}) {
    const auto files = files_with(word, {"core", "cuda", "autograd", "checks", "nn"});
    CHECK_MESSAGE(files.size() <= 3, word, " is in", listed(files));
  }
}

TEST_CASE("layout: a kind of norms is in one file, a kind of positions in few") {
  // nine.h's comments name both.
  for (const auto& [name, most] : {std::pair{"RmsNorm", 2}, {"RotaryAngles", 5}}) {
    const std::string word = name;  // clang 14 captures no structured binding
    const auto files = files_with(word, {"nn", "data", "apps"});
    CHECK_MESSAGE(std::ssize(files) <= most, word, " is in", listed(files));
    CHECK_MESSAGE(std::ssize(files) >= 2, word, " is in", listed(files));
  }
}

}  // namespace nine::tests::test_layout
