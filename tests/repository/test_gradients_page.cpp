// docs/gradients.md against the code: no op, function or kernel is missing there, and formulas are
// those that kernel_inspect prints.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "apps/inspect/inspect.h"
#include "core/op_list.h"
#include "core/ops.h"
#include "kernels/op_list.h"
#include "kernels/settings/head.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_gradients_page {
namespace {

std::string page() { return slurp(NINE_SOURCE_DIR "/docs/gradients.md"); }

// What `pattern`'s first group matches in the lines of a source file.
std::set<std::string> names_in(const std::string& file, const std::string& pattern) {
  std::ifstream in(NINE_SOURCE_DIR "/" + file);
  const std::regex expression(pattern);
  std::set<std::string> names;
  std::smatch match;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, match, expression)) names.insert(match[1]);
  return names;
}

// The text under "### name", to the next heading.
std::string section(const std::string& text, const std::string& name) {
  const size_t begin = text.find("\n### " + name + "\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find("\n#", begin + 1) - begin);
}

}  // namespace

TEST_CASE("gradients page: every op and every differentiable function") {
  const std::string text = page();
  std::set<std::string> names;
#define NINE_ADD_NAME(name) names.insert(#name);
  NINE_FOR_EACH_OP(NINE_ADD_NAME)
  NINE_FOR_EACH_HEAD_OP(NINE_ADD_NAME)
#undef NINE_ADD_NAME
  const auto add_rules = [&]<class... Step>(const std::variant<Step...>&) {
    (names.insert(Step::kName), ...);
  };
  add_rules(ops::UpdateStep());
  names.insert("lstm_backward");  // of which only the loop over time is in the list
  CHECK(names.size() >= 40);
  names.merge(names_in("autograd/functions.h", R"(^(?:Var|LstmOutput) (\w+)\()"));
  names.merge(names_in("autograd/arrays.h", R"(^(?:Var|Sorted) (\w+)\()"));
#define NINE_ADD_NAME(NAME, ...) names.insert(#NAME);
  NINE_FOR_EACH_UNARY(NINE_ADD_NAME, NINE_ADD_NAME, NINE_ADD_NAME)
  NINE_FOR_EACH_BINARY(NINE_ADD_NAME)
  NINE_FOR_EACH_REDUCTION(NINE_ADD_NAME, NINE_ADD_NAME)
#undef NINE_ADD_NAME
  names.merge(names_in("kernels/loss/kernel_softmax.h", R"(^SoftmaxLoss (\w+)\()"));
  names.merge(names_in("kernels/options/regularisers.h", R"(^Var (\w+)\()"));
  CHECK(names.contains("norm_penalty"));
  for (const std::string& name : names)
    CHECK_MESSAGE(has(text, "`" + name + "`"), "docs/gradients.md does not derive ", name);
}

TEST_CASE("gradients page: every kernel of the papers has its section") {
  const std::string text = page();
  for (const char* name : {"lin", "log", "pow", "pol", "rbf", "ssg", "mog", "hpb", "wav", "sig"})
    CHECK_MESSAGE(!section(text, name).empty(), "docs/gradients.md has no section for ", name);
}

TEST_CASE("gradients page: figures that are shown exist") {
  const std::string text = page();
  const std::regex figure(R"(!\[[^\]]*\]\(([^)]+)\))");
  int seen = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), figure), end; it != end; ++it, ++seen)
    CHECK_MESSAGE(!slurp(std::string(NINE_SOURCE_DIR "/docs/") + (*it)[1].str()).empty(),
                  (*it)[1].str());
  CHECK(seen > 0);
}

}  // namespace nine::tests::test_gradients_page
