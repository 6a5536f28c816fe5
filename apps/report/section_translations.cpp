#include "apps/report/sections.h"

#include <algorithm>
#include <cmath>

#include "apps/report/attention_table.h"
#include "apps/report/run_label.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;

std::string line_html(const std::string& name, const std::string& text) {
  return concat("<dt>", name, "</dt><dd dir=\"auto\">",
                text.empty() ? "<span class=\"quiet\">nothing</span>" : escaped_sentence(text),
                "</dd>\n");
}

std::string attention_html(const SampleTranslation& t) {
  if (t.attention.empty()) return {};
  std::vector<std::string> columns = t.src_tokens;
  columns.emplace_back("</s>");
  return "<details><summary>Attention</summary>\n" +
         attention_table(
             "Share of each source token in the last decoder layer's attention, mean "
             "over heads",
             t.hyp_tokens, columns, t.attention) +
         "</details>\n";
}

// The run's translation of the same line, null when it has none.
const SampleTranslation* same_source(const Run& run, const SampleTranslation& t) {
  for (const SampleTranslation& other : run.translations)
    if (other.line == t.line && other.src == t.src) return &other;
  return nullptr;
}

std::string sample_html(const Runs& runs, const SampleTranslation& t) {
  std::string out =
      "<div class=\"sample\"><dl>\n" + line_html("Source", t.src) + line_html("Reference", t.ref);
  if (runs.size() == 1)
    return out + line_html("Model", t.hyp) + "</dl>\n" + attention_html(t) + "</div>\n";
  for (size_t i = 0; i < runs.size(); ++i)
    if (const SampleTranslation* theirs = same_source(runs[i], t))
      out += line_html(run_label(runs, i), theirs->hyp);
  return out + "</dl></div>\n";
}

}  // namespace

std::string translations_html(const Runs& runs) {
  const auto first = std::find_if(runs.begin(), runs.end(),
                                  [](const Run& run) { return !run.translations.empty(); });
  if (first == runs.end()) return {};
  const std::string when =
      runs.size() == 1
          ? concat("of the validation text, at step ", count(first->translations.front().step))
          : "of the validation text, at each run's last validation";
  std::string out = concat("<section>\n<h2>Translations <span class=\"quiet\">", when,
                           "</span></h2>\n<div class=\"samples\">\n");
  for (const SampleTranslation& t : first->translations) out += sample_html(runs, t);
  return out + "</div>\n</section>\n";
}

}  // namespace nine::app
