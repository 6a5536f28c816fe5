// nine_report RUN... [--output FILE]: the report page of one or several runs.
#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "apps/report/report.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

std::filesystem::path default_output(const std::vector<std::filesystem::path>& runs) {
  return runs.size() == 1 ? runs.front() / "report.html" : std::filesystem::path("report.html");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes the report of one or several runs as one HTML page: figures, curves, settings.", "nine_report");
  std::vector<std::filesystem::path> runs;
  std::filesystem::path output;
  app.add_option("RUN", runs, "run directories, those that hold log.jsonl; several are compared")->required();
  app.add_option("--output", output, "the page to write (default: RUN/report.html, ./report.html for several runs)")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    if (output.empty()) output = default_output(runs);
    nine::write_report(runs, output);
    std::cout << "wrote " << output.string() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "nine_report: " << error.what() << '\n';
    return kFailed;
  }
  return 0;
}
