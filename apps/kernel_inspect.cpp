// kernel_inspect: formulas, values, exact gradients, examples, figures and checks of any head.
// Its parts are in apps/inspect/: inspect.h is --input.
#include <limits>

#include "apps/cli/option_conflicts.h"
#include "apps/cli/options.h"
#include "apps/cli/processes.h"
#include "apps/cli/run_main.h"
#include "apps/cli/text_io.h"
#include "apps/cli/version.h"
#include "apps/inspect/check.h"
#include "apps/inspect/conditions.h"
#include "apps/inspect/exercise.h"
#include "apps/inspect/explain.h"
#include "apps/inspect/explain_page.h"
#include "apps/inspect/inspect.h"
#include "apps/inspect/kernel_table.h"
#include "apps/inspect/plot.h"
#include "apps/inspect/show.h"
#include "kernels/install_cuda.h"

namespace nine::app {
namespace {

struct InspectOptions {
  std::string input, output = "-", explain, page, exercise, show, plot;
  bool check = false, solution = false;
  PlotSettings figure;
  CheckSettings checks;

  void declare(Options& o) {
    o.add("input", input,
          "JSON file with the head and the numbers to compute with: head, options, dtype, H, W, b, "
          "M, C, targets (docs/formats.md); -: standard input")
        .unit("IN.json")
        .default_text("none, which prints the table of kernels");
    o.add("output", output, "file for the text; -: standard output").unit("FILE");
    std::string layers, ideas;
    for (const std::string& name : layer_examples()) layers += ", " + name;
    for (const Experiment& e : experiments())
      ideas += concat(ideas.empty() ? "" : "; ", e.name, ": ", e.question);
    o.add("explain", explain,
          concat("explains a small example line by line, forward and backward. NAME is a kernel "
                 "such as pow:p=1, lin with ",
                 margin_examples(), layers))
        .unit("NAME");
    o.add("page", page,
          "writes the example of --explain as an HTML page; on the page of a kernel, vectors can "
          "be moved")
        .unit("FILE.html");
    o.add("exercise", exercise,
          "prints an exercise for pencil and paper, drawn from --seed; NAME as for --explain")
        .unit("NAME");
    o.add("solution", solution, "with --exercise: also prints each step of the solution");
    o.add("show", show,
          "runs an experiment on the ideas behind the kernels; --plot takes its figure. "
          "Experiments: " +
              ideas)
        .unit("NAME");
    o.group("Figures");
    o.add("plot", plot,
          "draws the score S and its derivative over q (lin, pol and sig: over z), or the figure "
          "of --show")
        .unit("FILE.svg");
    o.add("kernels", figure.kernels,
          "kernels to draw, separated by commas; the default kernels are those of the paper's "
          "Figure 1. For margins such as cos:0.3, arc:0.5 and lsm:3, draws psi and its slope over "
          "the angle. With --check: kernels to check")
        .unit("NAME,...");
    o.add("from", figure.from, "smallest q or z to draw").range(-1e6, 1e6);
    o.add("to", figure.to, "largest q or z to draw").range(-1e6, 1e6);
    o.group("Checks");
    o.add("check", check,
          "compares the gradients of every op and every head with finite differences, on random "
          "shapes; fails if an error is above 1e-6");
    o.add("shape", checks.shape,
          "shape of the checked heads: number of contexts, number of words, size of a vector")
        .unit("N,V,d")
        .default_text("drawn from the seed");
    o.add("seed", checks.seed, "seed of random shapes and numbers, and of --exercise");
    o.add("eps", checks.eps,
          "half of the step of the finite differences; a smaller step changes no number")
        .range(std::numeric_limits<double>::epsilon(), 1);
  }

  void refuse_contradictions(const Options& given) const {
    const int modes = (input.empty() ? 0 : 1) + (explain.empty() ? 0 : 1) + (show.empty() ? 0 : 1) +
                      (exercise.empty() ? 0 : 1) + (check ? 1 : 0);
    check_outputs({{"--output", output}, {"--plot", plot}, {"--page", page}}, {{"--input", input}});
    refuse_empty(given, {"input", "output", "explain", "page", "exercise", "show", "plot"});
    require_format("--plot", plot, "an SVG figure", ".svg");
    require_format("--page", page, "an HTML page", ".html");
    const bool prints_text = output == "-" && (!show.empty() || given.was_set("output"));
    for (const auto& [flag, file] : {std::pair("--plot", plot), std::pair("--page", page)})
      require_usage(file != "-" || !prints_text, flag,
                    " - and text would mix on standard output: give one of them a file");
    if (modes > 1)
      throw UsageError("give one of --input, --explain, --exercise, --show and --check");
    const bool plots = !plot.empty() && modes == 0;
    only_with(given, check, "--check", {"shape", "eps"});
    only_with(given, check || !exercise.empty(), "--check or --exercise", {"seed"});
    only_with(given, plots || check, "--plot or --check", {"kernels"});
    only_with(given, plots && !draws_margins(figure.kernels),
              "--plot of kernels, not of margins, which are drawn over the angle", {"from", "to"});
    only_with(given, !plots, "the text of a table, an example, checks or --show", {"output"});
    only_with(given, !exercise.empty(), "--exercise NAME", {"solution"});
    if (!page.empty() && explain.empty())
      throw UsageError("--page shows the example of --explain: name one, such as --explain rbf");
    if (!plot.empty() && modes > 0 && show.empty())
      throw UsageError(
          "--plot draws kernels or the figure of --show: leave out --plot or the other option");
  }
};

void write(const std::string& file, const std::string& text) {
  TextOutput out(file);
  out.stream() << text;
  out.finish();
}

std::string inspected(const std::string& input) {
  try {
    std::string json;
    for (const std::string& line : read_lines(input)) json += line + '\n';
    return inspect_json(json);
  } catch (const UsageError& e) {
    throw UsageError(concat(input_name(input), ": ", e.what()));
  }
}

int run(int argc, char** argv) {
  Options options("kernel_inspect",
                  "Shows formulas, values, exact gradients, examples, figures and checks of any "
                  "output head. Without options, prints a table of the kernels.",
                  version_text);
  InspectOptions o;
  o.declare(options);
  if (!options.parse(argc, argv)) return kExitDone;
  o.refuse_contradictions(options);
  require_one_process();
  if (o.check && options.was_set("kernels")) o.checks.kernels = o.figure.kernels;
  install_cuda();
  if (!o.input.empty()) {
    write(o.output, inspected(o.input));
  } else if (!o.explain.empty()) {
    if (o.page.empty() || options.was_set("output")) write(o.output, explain(o.explain).text());
    if (!o.page.empty()) write(o.page, explain_page(o.explain));
  } else if (!o.exercise.empty()) {
    write(o.output, exercise_text(o.exercise, o.checks.seed, o.solution));
  } else if (!o.show.empty()) {
    const ExperimentResult found = show(o.show);
    write(o.output, found.text);
    if (!o.plot.empty()) write(o.plot, found.svg);
  } else if (o.check) {
    const std::vector<CheckRow> rows = check_rows(o.checks);
    write(o.output, check_text(rows));
    return passed(rows) ? kExitDone : kExitFailed;
  } else if (!o.plot.empty()) {
    write(o.plot, plot_svg(o.figure));
  } else {
    write(o.output, kernel_table_text() + '\n' + conditions_text());
  }
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  return nine::app::run_main("kernel_inspect", [&] { return nine::app::run(argc, argv); });
}
