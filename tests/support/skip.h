// Skipped test cases, which CTest prints by name.
//
// A case that needs something that a machine may lack is in a suite of its own, named after that:
//   TEST_CASE("head: ..." * doctest::test_suite("needs libxsmm"))
// tests/CMakeLists.txt makes a CTest entry of each such suite, test_head_needs_libxsmm, so that a
// skip hides nothing else. tests/skips.txt lists the entries that CI may skip.
#pragma once

#include <string>

namespace nine::tests {

/// Prints that the running test case is skipped, and why; the caller returns. A program of which
/// a case was skipped and none failed exits with kSkipped.
void skip(const std::string& why);

/// CTest's SKIP_RETURN_CODE for programs and scripts.
inline constexpr int kSkipped = 77;

/// The number of cases that called skip().
int skipped();

}  // namespace nine::tests
