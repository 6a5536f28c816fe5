#include "apps/report/sections.h"

#include <cmath>

#include "apps/report/figures.h"
#include "apps/report/run_label.h"
#include "apps/report/table.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;

std::string tile(const std::string& label, const std::string& value, const std::string& below) {
  return concat("<div class=\"tile\"><dt>", label, "</dt><dd><b>", value, "</b>",
                below.empty() ? "" : "<span>" + below + "</span>", "</dd></div>\n");
}

// How far a perplexity is above that of the source of the same text, below which no model can get.
std::string over_floor(double ppl, double floor) {
  return std::isfinite(ppl) && std::isfinite(floor) && floor > 0
             ? concat(figure(ppl / floor), "× the floor of ", figure(floor))
             : std::string();
}

// The figure of a raw text that does not depend on the tokenizer.
std::string bits(double per_byte) {
  return std::isfinite(per_byte) ? figure(per_byte) + " bits per byte" : std::string();
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "<br>" + b;
}

std::string tiles_html(const Run& run) {
  const Figures f = figures_of(run);
  const auto at_step =
      std::isfinite(f.best_step) ? "best, at step " + count(f.best_step) : std::string();
  std::string out = "<dl class=\"tiles\">\n";
  if (std::isfinite(f.best_valid_ppl))
    out += tile(
        "Validation perplexity", figure(f.best_valid_ppl),
        joined(joined(bits(f.valid_bits), at_step), over_floor(f.best_valid_ppl, run.floor_ppl)));
  if (std::isfinite(f.test_ppl))
    out += tile("Test perplexity", figure(f.test_ppl),
                joined(bits(f.test_bits), over_floor(f.test_ppl, run.test_floor_ppl)));
  const bool floor_alone = std::isfinite(run.floor_ppl) && !std::isfinite(f.best_valid_ppl) &&
                           !std::isfinite(f.test_ppl);
  if (floor_alone)
    out += tile("Entropy floor", figure(run.floor_ppl),
                "the perplexity of the validation text's source");
  if (std::isfinite(f.best_bleu))
    out += tile("Best BLEU", figure(f.best_bleu), "on the validation set");
  if (std::isfinite(run.last_step))
    out += tile("Steps", count(run.last_step),
                std::isfinite(run.last_time) ? "in " + duration(run.last_time) : std::string());
  if (std::isfinite(run.parameters)) {
    const bool exact = run.parameters < 1e5;
    const std::string below = std::isfinite(run.vocab) ? "vocabulary of " + count(run.vocab)
                              : exact                  ? ""
                                                       : count(run.parameters);
    out += tile("Parameters", exact ? count(run.parameters) : compact(run.parameters), below);
  }
  if (std::isfinite(f.tokens_per_s))
    out += tile("Speed", count(f.tokens_per_s), "tokens/s, median");
  if (std::isfinite(f.peak_mib)) out += tile("Peak memory", count(f.peak_mib), "MiB");
  return out + "</dl>\n";
}

std::string comparison_html(const Runs& runs) {
  Table table{"The runs",
              {"Run", "Best validation perplexity", "at step", "Test perplexity",
               "Validation bits per byte", "Test bits per byte", "Entropy floor, validation",
               "Best BLEU", "Steps", "Time", "Parameters", "Tokens/s", "Peak MiB", "State"},
              {},
              true,
              -1};
  double best = kAbsent;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    const Figures f = figures_of(run);
    if (std::isfinite(f.best_valid_ppl) && !(f.best_valid_ppl >= best))
      best = f.best_valid_ppl, table.marked_row = static_cast<int>(i);
    table.rows.push_back({run_label(runs, i), figure(f.best_valid_ppl), count(f.best_step),
                          figure(f.test_ppl), figure(f.valid_bits), figure(f.test_bits),
                          figure(run.floor_ppl), figure(f.best_bleu), count(run.last_step),
                          duration(run.last_time), compact(run.parameters), count(f.tokens_per_s),
                          count(f.peak_mib), run.finished ? "finished" : "not finished"});
  }
  if (!why_incomparable(runs).empty()) table.marked_row = -1;
  table.drop_empty_columns();
  return table_html(table);
}

}  // namespace

std::string summary_html(const Runs& runs) {
  return "<section class=\"summary\">\n<h2 class=\"hidden\">Summary</h2>\n" +
         (runs.size() == 1 ? tiles_html(runs[0]) : comparison_html(runs)) + "</section>\n";
}

}  // namespace nine::app
