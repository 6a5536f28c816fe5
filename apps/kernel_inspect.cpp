// kernel_inspect: formulas, values, exact gradients and checks of any head. Parses and calls; the work is apps/shared/inspect.h.
#include <nlohmann/json.hpp>

#include "apps/shared/inspect.h"
#include "apps/shared/options.h"
#include "apps/shared/run_main.h"
#include "apps/shared/text_io.h"
#include "apps/shared/version.h"
#include "cuda/cuda.h"

namespace nine::app {
namespace {

nlohmann::ordered_json read_json(const std::string& input) {
  std::string text;
  for (const std::string& line : read_lines(input)) text += line + '\n';
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    throw UsageError(concat("no JSON: ", e.what()));
  }
}

int run(int argc, char** argv) {
  Options options("kernel_inspect", "Shows formulas, values, exact gradients and checks of any output head; without --input a table of the kernels.",
                  kVersionLine);
  std::string input, output = "-";
  options.add("input", input, "what to compute, as JSON: head, options, dtype, H, W, b, M, C, targets (docs/heads.md); - is standard input")
      .unit("IN.json")
      .default_text("the table of kernels");
  options.add("output", output, "where the result goes; - is standard output").unit("OUT.json");
  if (!options.parse(argc, argv)) return kExitDone;
  cuda::install();
  std::string text = kernel_table_text();
  if (!input.empty()) {
    try {
      text = inspect(read_inspect_input(read_json(input))).dump() + '\n';
    } catch (const UsageError& e) {
      throw UsageError(concat(input_name(input), ": ", e.what()));
    }
  }
  TextOutput out(output);
  out.stream() << text;
  out.finish();
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  return nine::app::run_main("kernel_inspect", [&] { return nine::app::run(argc, argv); });
}
