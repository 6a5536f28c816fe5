// Explains kernels, heads and layers by worked examples, as kernel_inspect --explain NAME does. An
// example is a forward and a backward pass over a few numbers, step by step. `name` is a head
// string ("pow:p=1", "mix:lin,rbf"), settings of a margin or of norms ("margin=cos:0.3"), or a
// layer or a term of the loss ("lstm", "z_loss"). The error for an unknown name lists the names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nine::app {

// The texts of files, which explain_page() puts into its page:
extern const std::string_view kExplainStyle;    ///< apps/inspect/explain_page.css
extern const std::string_view kMathFont;        ///< apps/inspect/math_font.css, which holds a font
extern const std::string_view kExplainCompute;  ///< apps/inspect/explain_compute.js
extern const std::string_view kExplainScript;   ///< apps/inspect/explain_page.js
extern const std::string_view kExplainPrint;    ///< apps/inspect/explain_print.js

/// Numbers of the caller for an example whose name is a head: V words, vectors of d numbers, K
/// components. As in HeadWeights, each inner vector is a row.
struct ExampleNumbers {
  std::vector<double> h;               ///< the context, d numbers; empty: all members are ignored
  std::vector<std::vector<double>> w;  ///< (V, d): the word vectors
  int64_t target = 0;                  ///< the row in w of the word to predict
  std::vector<std::vector<double>> prior;    ///< (K, d): HeadWeights::prior; empty for one kernel
  std::vector<std::vector<double>> context;  ///< (K * d, d): HeadWeights::latent; empty without
                                             ///< HeadSpec::contexts
};
/// The largest V and the largest d of ExampleNumbers, because a page has no room for more.
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
/// the kernels' formulas computes it. A page with ExampleNumbers has no plane. UsageErrors: an
/// unknown name, or a wrong head string; ExampleNumbers for a name that is not a head;
/// ExampleNumbers of another shape than the head takes, above kMostExampleWords or
/// kMostExampleSize, or not finite; a target that is not a row of w.
std::string explain_page(const std::string& name, const ExampleNumbers& numbers = {});

}  // namespace nine::app
