// kernel_inspect --explain NAME --page: the worked example as a page, with a plane to play in.
#pragma once

#include <string>
#include <string_view>

namespace nine::app {

extern const std::string_view kExplainStyle;    ///< apps/inspect/explain_page.css
extern const std::string_view kMathFont;        ///< apps/inspect/math_font.css, a font within
extern const std::string_view kExplainCompute;  ///< apps/inspect/explain_compute.js
extern const std::string_view kExplainScript;   ///< apps/inspect/explain_page.js
extern const std::string_view kExplainPrint;    ///< apps/inspect/explain_print.js

/// One HTML page that fetches nothing: for heads of any kernels, a formula, margins and norms of
/// lin a plane whose points can be moved, computed by JavaScript generated from the kernels'
/// formulas; for every
/// example its derivation as MathML with numbers and rules. UsageError: see explain().
std::string explain_page(const std::string& name);

}  // namespace nine::app
