#include "apps/report/sections.h"

#include <cmath>
#include <utility>

#include "apps/report/figures.h"
#include "apps/report/table.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;

// The columns after a row's name, the most important first: a phone shows three.
const std::vector<std::string> kEntryColumns{
    "Perplexity", "Nats per token", "Bits per byte", "Perplexity per word", "Loss", "BLEU",
    "Epoch",      "Time",           "Tokens"};

std::vector<std::string> columns_after(const std::string& first) {
  std::vector<std::string> columns{first};
  columns.insert(columns.end(), kEntryColumns.begin(), kEntryColumns.end());
  return columns;
}

// The loss is listed only where it differs from the nats per token.
std::vector<std::string> entry_row(bool with_loss, std::string name, const Entry& e) {
  return {std::move(name),
          figure(e[Field::ppl]),
          figure(e[Field::nll]),
          figure(e[Field::bits_per_byte]),
          figure(e[Field::word_ppl]),
          with_loss ? figure(e[Field::loss]) : std::string(),
          figure(e[Field::bleu]),
          plain(e.epoch),
          duration(e.time_s),
          count(e[Field::tokens])};
}

std::string at_step(const std::string& name, const Entry& e) {
  return name + " <span class=\"quiet\">at step " + count(e.step) + "</span>";
}

// The perplexity of a text's source as if it were an event's.
void add_floor(bool with_loss, const std::string& text, double ppl, Table& table) {
  if (!std::isfinite(ppl)) return;
  Entry floor;
  floor[Field::nll] = std::log(ppl);
  floor[Field::ppl] = ppl;
  table.rows.push_back(entry_row(
      with_loss, concat("Entropy floor <span class=\"quiet\">of the ", text, " text</span>"),
      floor));
}

std::string final_figures_html(const Run& run) {
  const bool with_loss = has_own_objective(run);
  Table table{"Final figures", columns_after("Figure"), {}, true, -1};
  if (const Entry* best = best_validation(run))
    table.rows.push_back(entry_row(with_loss, at_step("Best validation", *best), *best));
  if (!run.valid.empty())
    table.rows.push_back(
        entry_row(with_loss, at_step("Last validation", run.valid.back()), run.valid.back()));
  for (const Entry& e : run.test) table.rows.push_back(entry_row(with_loss, "Test", e));
  if (table.rows.empty()) return {};
  add_floor(with_loss, "validation", run.floor_ppl, table);
  add_floor(with_loss, "test", run.test_floor_ppl, table);
  table.drop_empty_columns();
  return table_html(table);
}

std::string validations_html(const Run& run, const std::string& caption, bool fold) {
  if (run.valid.empty()) return {};
  const bool with_loss = has_own_objective(run);
  Table table{caption, columns_after("Step"), {}, true, -1};
  const Entry* best = best_validation(run);
  for (size_t i = 0; i < run.valid.size(); ++i) {
    const bool is_best = &run.valid[i] == best;
    if (is_best) table.marked_row = static_cast<int>(i);
    table.rows.push_back(entry_row(
        with_loss,
        count(run.valid[i].step) + (is_best ? " <span class=\"badge best\">best</span>" : ""),
        run.valid[i]));
  }
  table.drop_empty_columns();
  constexpr size_t kShown = 16;
  return run.valid.size() <= kShown && !fold
             ? table_html(table)
             : folded(concat(caption, ": all ", count(static_cast<double>(run.valid.size()))),
                      table_html(table));
}

std::string done_html(const Run& run) {
  if (run.done.empty()) return {};
  Table table{"What the run's last line says", {"Key", "Value"}, {}, false, -1};
  for (const auto& [key, value] : run.done) table.rows.push_back({escaped(key), escaped(value)});
  return folded("The run's last line", table_html(table));
}

}  // namespace

std::string tables_html(const Runs& runs) {
  std::string body;
  for (const Run& run : runs) {
    const bool one = runs.size() == 1;
    if (one) body += final_figures_html(run);
    body +=
        validations_html(run, one ? "Validations" : "Validations of " + isolated(run.name), !one);
    if (one) body += done_html(run);
  }
  return body.empty() ? body : "<section>\n<h2>Figures</h2>\n" + body + "</section>\n";
}

}  // namespace nine::app
