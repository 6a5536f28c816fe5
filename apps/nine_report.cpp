// nine_report RUN... [--output FILE]: the report page of one or several runs.
#include <cstdio>
#include <filesystem>

#include "apps/report/report.h"
#include "apps/shared/options.h"
#include "apps/shared/run_main.h"
#include "apps/shared/version.h"

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("nine_report", [&] {
    Options options("nine_report", "Writes the report of one or several runs as one HTML page: figures, curves, settings.", kVersionLine);
    std::vector<std::string> runs;
    std::string output;
    options.add_positional("RUN", runs, "run directories, those that hold log.jsonl; several are compared").required();
    options.add("output", output, "the page to write").unit("FILE").default_text("RUN/report.html, or ./report.html for several runs");
    if (!options.parse(argc, argv)) return kExitDone;
    if (output.empty()) output = runs.size() == 1 ? (std::filesystem::path(runs.front()) / "report.html").string() : "report.html";
    nine::write_report({runs.begin(), runs.end()}, output);
    std::printf("wrote %s\n", output.c_str());
    return kExitDone;
  });
}
