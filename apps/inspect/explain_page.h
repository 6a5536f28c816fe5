// kernel_inspect --explain NAME --page: the worked example as a page, with a plane whose vectors
// can be moved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nine::app {

extern const std::string_view kExplainStyle;    ///< apps/inspect/explain_page.css
extern const std::string_view kMathFont;        ///< apps/inspect/math_font.css, a font within
extern const std::string_view kExplainCompute;  ///< apps/inspect/explain_compute.js
extern const std::string_view kExplainScript;   ///< apps/inspect/explain_page.js
extern const std::string_view kExplainPrint;    ///< apps/inspect/explain_print.js

/// A caller's own numbers for the example of a head of kernels.
struct ExampleNumbers {
  std::vector<double> h;                   ///< the context; empty: the numbers of the usual example
  std::vector<std::vector<double>> w;      ///< a vector for each word
  int64_t target = 0;                      ///< the word with which the text goes on
  std::vector<std::vector<double>> prior;  ///< of mixtures: a vector for each component
  std::vector<std::vector<double>> context;  ///< with contexts: d rows for each component
};
/// The most words, and the most numbers of a vector, of such an example: more fit on no page.
inline constexpr int64_t kMostExampleWords = 8, kMostExampleSize = 8;

/// A result of an example, which the derivation and the library's ops both computed.
struct ExampleResult {
  std::string symbol;  ///< L, dL/dh, dL/dw_1, ...
  std::vector<double> numbers;
};
/// Returns the results of an example, in its order. UsageError: see explain_page().
std::vector<ExampleResult> example_results(const std::string& name, const ExampleNumbers& numbers);
/// Returns the lines of an example. UsageError: see explain_page().
std::string explain_text(const std::string& name, const ExampleNumbers& numbers = {});

/// Returns one HTML page that fetches nothing. The page has the derivation of the example as
/// MathML, with numbers and rules. For heads of any kernels, for formulas, and for margins and
/// norms of lin, it also has a plane whose points can be moved; JavaScript that is generated from
/// the kernels' formulas computes it. A page with a caller's own numbers has no plane. UsageErrors:
/// see explain(); numbers of other sizes than the head takes; numbers for a name that is not a head
/// of kernels.
std::string explain_page(const std::string& name, const ExampleNumbers& numbers = {});

}  // namespace nine::app
