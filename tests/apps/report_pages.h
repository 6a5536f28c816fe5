// Run directories for the report's tests, and what its pages must not have.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests {

// A directory of its own for each test case, gone at its end.
struct TempDir : TemporaryDirectory {
  std::filesystem::path run(const std::string& name, const std::string& log,
                            const std::string& config = R"({"head": "lin", "hidden": 64})") const {
    std::filesystem::create_directories(path() / name);
    put(path() / name / "log.jsonl", log);
    if (!config.empty()) put(path() / name / "config.json", config);
    return path() / name;
  }
};

/// The report of the runs.
std::string page_of(const TempDir& dir, const std::vector<std::filesystem::path>& runs);

/// Lines of log.jsonl.
std::string train(int step, double ppl);
std::string valid(int step, double ppl, const char* event = "valid");
extern const std::string kStart;

/// How often the part is in the text.
int times(const std::string& text, const std::string& part);
/// The first thing wrong with the nesting of tags, quotes and ids; empty when the page is fine.
std::string first_flaw(const std::string& html);
/// Checks that the page is well formed, loads nothing and shows no number that is none.
void check_page(const std::string& html);

/// The data of the chart with this title, as the page's script gets it.
Json chart_data(const std::string& html, const std::string& title);
/// The curve of that name; the test fails where there is none.
const Json& series(const Json& chart, const std::string& name);
double largest(const Json& numbers);

}  // namespace nine::tests
