#include "apps/report/attention_table.h"
#include "apps/report/run_label.h"
#include "apps/report/sections.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {

std::string attention_html(const std::vector<Run>& runs) {
  if (runs.size() != 1 || runs[0].attention.empty()) return {};
  std::string out = concat(
      "<section>\n<h2>Attention <span class=\"quiet\">on sentences of the validation text, at "
      "step ",
      count(runs[0].attention.front().step), "</span></h2>\n<div class=\"samples\">\n");
  for (const SampleAttention& sample : runs[0].attention) {
    std::string text;
    for (size_t i = 0; i + 1 < sample.predicted.size(); ++i)
      text += (i > 0 ? " " : "") + sample.predicted[i];
    out += concat("<div class=\"sample\"><details><summary>", "<bdi>", escaped_sentence(text),
                  "</bdi></summary>\n",
                  attention_table("Share of each word read, of the columns, in the last layer's "
                                  "attention before a row's word is predicted, mean over heads",
                                  sample.predicted, sample.read, sample.attention),
                  "</details></div>\n");
  }
  return out + "</div>\n</section>\n";
}

}  // namespace nine::app
