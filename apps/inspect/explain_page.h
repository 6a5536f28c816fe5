// kernel_inspect --explain NAME --page: the worked example as a page, with a plane whose vectors
// can be moved.
#pragma once

#include <string>
#include <string_view>

namespace nine::app {

extern const std::string_view kExplainStyle;    ///< apps/inspect/explain_page.css
extern const std::string_view kMathFont;        ///< apps/inspect/math_font.css, a font within
extern const std::string_view kExplainCompute;  ///< apps/inspect/explain_compute.js
extern const std::string_view kExplainScript;   ///< apps/inspect/explain_page.js
extern const std::string_view kExplainPrint;    ///< apps/inspect/explain_print.js

/// Returns one HTML page that fetches nothing. The page has the derivation of the example as
/// MathML, with numbers and rules. For heads of any kernels, for formulas, and for margins and
/// norms of lin, it also has a plane whose points can be moved; JavaScript that is generated from
/// the kernels' formulas computes it. UsageError: see explain().
std::string explain_page(const std::string& name);

}  // namespace nine::app
