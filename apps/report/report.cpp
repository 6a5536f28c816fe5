#include "apps/report/report.h"

#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "apps/cli/text_io.h"
#include "apps/report/figures.h"
#include "apps/report/page.h"
#include "apps/report/run_log.h"
#include "apps/report/sections.h"
#include "core/error.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

// "lstm/base" and "mos/base" rather than twice "base"; a run given twice is numbered.
void make_names_differ(std::vector<Run>& runs, const std::vector<fs::path>& directories) {
  const auto times_used = [&] {
    std::map<std::string, int> used;
    for (const Run& run : runs) ++used[run.name];
    return used;
  };
  const auto used = times_used();
  for (size_t i = 0; i < runs.size(); ++i) {
    std::error_code ignored;
    const fs::path parent =
        fs::weakly_canonical(directories[i] / "config.json", ignored).parent_path().parent_path();
    if (used.at(runs[i].name) > 1 && parent.has_filename())
      runs[i].name = parent.filename().string() + "/" + runs[i].name;
  }
  std::map<std::string, int> seen;
  for (const auto still_used = times_used(); Run & run : runs)
    if (still_used.at(run.name) > 1) run.name += " (" + std::to_string(++seen[run.name]) + ")";
}

std::string page_of(const std::vector<Run>& runs, const std::string& more) {
  const std::string title =
      runs.size() == 1 ? runs[0].name : std::to_string(runs.size()) + " runs compared";
  return page_html(title + " – Nine run report",
                   header_html(runs) + summary_html(runs) + charts_html(runs) +
                       translations_html(runs) + attention_html(runs) + more + tables_html(runs) +
                       settings_html(runs) +
                       "<footer>Written by Nine from config.json and log.jsonl.</footer>\n");
}

}  // namespace

Report report_page(const std::vector<fs::path>& directories, ReportSection* more) {
  require(!directories.empty(), "[report] no run was given: name at least one run directory");
  std::vector<Run> runs;
  for (const fs::path& directory : directories) runs.push_back(read_run(directory));
  make_names_differ(runs, directories);
  Report report{.page = page_of(runs, more ? more(runs, directories) : std::string()),
                .notes = comparison_notes(runs)};
  for (const Run& run : runs)
    for (const std::string& note : run.notes) report.notes.push_back(concat(run.name, ": ", note));
  return report;
}

std::vector<std::string> write_report(const std::vector<fs::path>& directories,
                                      const fs::path& output, ReportSection* more) {
  Report report = report_page(directories, more);
  try {
    write_whole(output.string(), report.page);
  } catch (const Error& error) {
    fail("[report] ", error.what(), "; choose another file with --output");
  }
  return std::move(report.notes);
}

}  // namespace nine::app
