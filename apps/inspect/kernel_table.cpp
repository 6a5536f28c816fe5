#include "apps/inspect/kernel_table.h"

#include <algorithm>

#include "apps/inspect/worked_example.h"
#include "core/error.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/settings/head.h"

namespace nine::app {
std::string kernel_table_text() {
  std::string text =
      "z = w.h, q = |w - h|^2; a score is S(w, h) + b_v, and p(v|h) its softmax over the words "
      "v.\n\n";
  for (const KernelInfo& k : kernel_table()) {
    const expression::KernelLines lines(kernel_expression(parse_head(k.name).components.front()),
                                        k.parameters);
    text += concat(padded(concat(k.name, " "), 6), "S = ", lines.score_text(),
                   "\n      derivative: ", lines.derivative_text(), "\n");
    for (const ParameterInfo& p : k.parameters) {
      const bool word = p.words != nullptr;
      text += concat("      ", p.name, "=",
                     word ? p.words[static_cast<int>(p.default_value)] : concat(p.default_value),
                     ": ", p.meaning, "\n");
    }
    text += concat("      ", k.note, "\n");
  }
  text += "\nMixtures: mix:COMPONENT,... with counts (3*lin) and parameters (log:p=1), or\n";
  for (const HeadPreset& p : head_presets())
    text += concat("  ", padded(concat(p.name, " "), 8), p.text, "\n");
  return text;
}

}  // namespace nine::app
