#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <iostream>

namespace nine::tests {
namespace {

int g_skipped = 0;
const char* g_case = "";

// Remembers the running case: doctest's macros know it, functions do not.
struct RunningCase : doctest::IReporter {
  explicit RunningCase(const doctest::ContextOptions& /*options*/) {}
  void test_case_start(const doctest::TestCaseData& data) override { g_case = data.m_name; }
  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*e*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};

REGISTER_LISTENER("running case", 0, RunningCase);

}  // namespace

void skip(const std::string& why) {
  ++g_skipped;
  std::cout << "skipped: " << g_case << ": " << why << std::endl;
}

int skipped() { return g_skipped; }

}  // namespace nine::tests
