#include "apps/report/run_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "apps/report/figures.h"
#include "apps/report/vector_charts.h"
#include "apps/svg/text.h"
#include "core/error.h"
#include "data/text.h"
#include "kernels/settings/head.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;
using Entries = std::vector<Entry> Run::*;

// The values of a field; one that is not finite is a point too, which makes a gap in the curve.
std::vector<Point> points_of(const std::vector<Entry>& entries, Field field) {
  std::vector<Point> points;
  for (const Entry& e : entries)
    if (!std::isnan(e[field])) points.push_back({e.step, e[field]});
  return points;
}

// One curve a run, named and coloured after it.
std::vector<Curve> curves_of(const Runs& runs, Entries entries, Field field) {
  std::vector<Curve> curves;
  for (size_t i = 0; i < runs.size(); ++i) {
    Curve curve{runs[i].name, i, entries == &Run::valid, points_of(runs[i].*entries, field)};
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

Chart over_runs(const Runs& runs, std::string title, std::string note, Entries entries, Field field,
                bool from_zero = false) {
  Chart chart;
  chart.title = std::move(title);
  chart.note = std::move(note);
  chart.curves = curves_of(runs, entries, field);
  chart.from_zero = from_zero;
  if (runs.size() == 1)
    for (Curve& curve : chart.curves)
      curve.name = entries == &Run::valid ? "Validation" : "Training";
  return chart;
}

std::vector<Reference> floors_of(const Runs& runs) {
  std::vector<Reference> floors;
  for (const Run& run : runs) {
    const auto known = [&](const Reference& r) {
      return std::fabs(r.y - run.floor_ppl) <= 1e-6 * r.y;
    };
    if (std::isfinite(run.floor_ppl) && std::none_of(floors.begin(), floors.end(), known))
      floors.push_back({"entropy floor", run.floor_ppl});
  }
  return floors;
}

Chart train_and_valid(const Runs& runs, std::string title, std::string note, Field field) {
  Chart chart = over_runs(runs, std::move(title), std::move(note), &Run::train, field);
  for (Curve& curve : curves_of(runs, &Run::valid, field)) {
    curve.name = "Validation";
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

void add_quality(const Runs& runs, std::vector<Chart>& charts) {
  const std::string ppl_note = "exp of the nats per token";
  std::vector<Chart> found;
  if (runs.size() == 1) {
    found.push_back(train_and_valid(runs, "Perplexity", ppl_note, Field::ppl));
  } else {
    found.push_back(over_runs(runs, "Validation perplexity", ppl_note, &Run::valid, Field::ppl));
    found.push_back(over_runs(runs, "Training perplexity", ppl_note, &Run::train, Field::ppl));
  }
  for (Chart& chart : found) {
    chart.references = floors_of(runs);
    if (has_values(chart)) charts.push_back(std::move(chart));
  }
  const bool loss_tells_more =
      charts.empty() || std::any_of(runs.begin(), runs.end(), has_own_objective);
  if (!loss_tells_more) return;
  const std::string note = "the objective, in nats per token";
  charts.push_back(runs.size() == 1
                       ? train_and_valid(runs, "Loss", note, Field::loss)
                       : over_runs(runs, "Training loss", note, &Run::train, Field::loss));
}

// Whether the largest value is more than twice the smallest.
bool ranges_far(const Chart& chart) {
  const ValueRange range = value_range(chart.curves);
  return range.high > 2 * range.low;
}

// A chart of the second half of the steps. Where the first values are in the thousands, the whole
// chart does not show whether the last ones still fall.
Chart second_half(const Chart& whole) {
  Chart half = whole;
  half.title += ", second half";
  half.x_low = whole.x_low + (whole.x_high - whole.x_low) / 2;
  for (Curve& curve : half.curves)
    std::erase_if(curve.points, [&](const Point& p) { return p.x < half.x_low; });
  std::erase_if(half.curves, [](const Curve& c) { return c.points.size() < 3; });
  half.large = false;
  return half;
}

// The components' kernels, in full; empty where the head is not read.
std::vector<std::string> kernels_of(const Run& run) {
  std::vector<std::string> names;
  for (const auto& [key, value] : run.settings) {
    if (key != "resolved.head" && (key != "head" || !names.empty())) continue;
    try {
      names.clear();
      for (const Score& score : parse_head(value).components) {
        const std::string text = to_text(score);
        // Without parameters that are the defaults, and without a long formula.
        const std::string kind = text.substr(0, text.find(':'));
        names.push_back(kind.starts_with("expr") ? "expr" : kind);
      }
    } catch (const Error&) {
      names.clear();  // written by another version
    }
  }
  return names;
}

// What component k is called in every chart: "π3 lin", by its kernel where that is known.
std::string component_name(const std::vector<std::string>& kernels, size_t components, size_t k) {
  return concat("π", k + 1, kernels.size() == components ? " " + kernels[k] : "");
}

// A curve for each component of a mixture, from the validations when they have the weights, else
// from training.
Chart mixture_chart(const Run& run, bool named, const std::string& title, std::string note,
                    std::vector<double> Entry::*weights) {
  Chart chart;
  chart.title = named ? title + ": " + run.name : title;
  chart.note = std::move(note);
  chart.from_zero = true;
  const std::vector<std::string> kernels = kernels_of(run);
  const auto has_weights = [&](const Entry& e) { return !(e.*weights).empty(); };
  const auto& entries =
      std::any_of(run.valid.begin(), run.valid.end(), has_weights) ? run.valid : run.train;
  for (const Entry& e : entries) {
    const std::vector<double>& values = e.*weights;
    for (size_t k = chart.curves.size(); k < values.size(); ++k)
      chart.curves.push_back({component_name(kernels, values.size(), k), 0, false, {}});
    for (size_t k = 0; k < values.size(); ++k)
      chart.curves[k].points.push_back({e.step, values[k]});
  }
  return chart;
}

// The mean norm of the contexts and the largest so far; of several components one curve each.
void add_context_norms(const Runs& runs, std::vector<Chart>& charts) {
  Chart chart{.title = "Norm of contexts",
              .note = "‖h‖: mean in training, and what evaluation would take",
              .from_zero = true};
  for (const Run& run : runs) {
    const std::string of = runs.size() > 1 ? ", " + run.name : "";
    const auto curve = [&](const std::string& name, auto&& value) {
      Curve c{name, 0, false, {}};
      for (const Entry& e : run.train)
        if (const double y = value(e); !std::isnan(y)) c.points.push_back({e.step, y});
      if (!c.points.empty()) chart.curves.push_back(std::move(c));
    };
    curve(runs.size() > 1 ? run.name : "Training", [](const Entry& e) { return e.context_norm; });
    const size_t size = run.train.empty() ? 0 : run.train.back().context_max.size();
    const std::vector<std::string> kernels = kernels_of(run);
    for (size_t k = 0; k < size; ++k)
      curve((size > 1 ? component_name(kernels, size, k) : "‖h‖ for evaluation") + of,
            [k](const Entry& e) { return k < e.context_max.size() ? e.context_max[k] : kAbsent; });
  }
  charts.push_back(std::move(chart));
}

// Of a number "0.rbf.gamma": what its component is called, of a head that is no mixture "rbf".
std::string component_of(const Run& run, const std::string& number) {
  const size_t dot = number.find('.'), end = number.rfind('.');
  int64_t k = 0;
  if (dot == end || !parse_count(number.substr(0, dot), k)) return number.substr(0, end);
  const std::vector<std::string> kernels = kernels_of(run);
  return kernels.size() == 1 ? kernels[0]
                             : concat("π", static_cast<uint64_t>(k) + 1, " ",
                                      number.substr(dot + 1, end - dot - 1));
}

// The head's learned numbers: a chart for each name that they have ("gamma", "scale"), in which
// each component of each run has a curve.
void add_learned_numbers(const Runs& runs, std::vector<Chart>& charts) {
  std::map<std::string, Chart> by_name;
  for (const Run& run : runs) {
    std::map<std::string, Curve> curves;
    for (const Entry& e : run.train)
      for (const auto& [number, value] : e.learned)
        if (!std::isnan(value)) curves[number].points.push_back({e.step, value});
    for (auto& [number, curve] : curves) {
      curve.name = component_of(run, number);
      if (runs.size() > 1) curve.name += ", " + run.name;
      by_name[number.substr(number.rfind('.') + 1)].curves.push_back(std::move(curve));
    }
  }
  for (auto& [name, chart] : by_name) {
    chart.title = "Learned: " + name;
    chart.note = "a number of the head, as training moves it";
    charts.push_back(std::move(chart));
  }
}

// A curve of one name has one colour in all charts, so that one legend holds for them all. Runs
// keep the colours that the page's tables give them.
void set_colours(const Runs& runs, std::vector<Chart>& charts) {
  std::map<std::string, size_t> colours;
  if (runs.size() == 1) colours = {{"Training", 0}, {"Validation", 1}};
  for (size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) colours.emplace(runs[i].name, i);
  for (Chart& chart : charts)
    for (Curve& curve : chart.curves)
      curve.colour = colours.emplace(curve.name, colours.size()).first->second;
}

void set_step_range(std::vector<Chart>& charts) {
  double low = INFINITY, high = -INFINITY;
  for (const Chart& chart : charts)
    for (const Curve& curve : chart.curves)
      for (const Point& p : curve.points) low = std::min(low, p.x), high = std::max(high, p.x);
  // The axis starts at 0, but not for a run whose log lacks the first steps.
  if (low < 0.25 * high) low = 0;
  for (Chart& chart : charts) chart.x_low = low, chart.x_high = high;
}

}  // namespace

std::vector<Chart> charts_of(const Runs& runs) {
  std::vector<Chart> charts;
  add_quality(runs, charts);
  charts.push_back(
      over_runs(runs, "BLEU", "on the validation set", &Run::valid, Field::bleu, true));
  for (const Run& run : runs) {
    charts.push_back(mixture_chart(run, runs.size() > 1, "Mixture weights",
                                   "mean over tokens; components in the head's order",
                                   &Entry::pi_mean));
    charts.push_back(mixture_chart(run, runs.size() > 1, "Mixture weights, variance",
                                   "over tokens; 0: the same in every context", &Entry::pi_var));
  }
  charts.push_back(over_runs(runs, "Learning rate", "per step", &Run::train, Field::lr, true));
  charts.push_back(
      over_runs(runs, "Gradient norm", "before clipping", &Run::train, Field::grad_norm));
  charts.push_back(
      over_runs(runs, "Speed", "tokens per second", &Run::train, Field::tokens_per_s, true));
  add_context_norms(runs, charts);
  add_learned_numbers(runs, charts);
  std::erase_if(charts, [](const Chart& c) { return !has_values(c); });
  set_step_range(charts);
  if (charts.empty()) return charts;
  charts.front().large = true;
  if (ranges_far(charts.front()))
    if (Chart half = second_half(charts.front()); has_values(half))
      charts.insert(charts.begin() + 1, std::move(half));
  for (Chart& chart : vector_charts_of(runs)) charts.push_back(std::move(chart));
  set_colours(runs, charts);
  return charts;
}

}  // namespace nine::app
