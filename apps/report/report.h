// The report page of one or several runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nine::app {

struct Run;  // apps/report/run_log.h

/// A section of the page: HTML about `runs`, which were read from `directories`.
using ReportSection = std::string(const std::vector<Run>& runs,
                                  const std::vector<std::filesystem::path>& directories);

/// Makes one self-contained HTML page about the runs of `directories`, each with a `log.jsonl` and
/// a `config.json`. One run gets a page about itself; several are compared: overlaid curves,
/// figures side by side, the settings that differ. The logs may be those of runs that are still
/// training: a half-written last line, missing fields and values that are not finite are fine.
///
/// `more` is one more section, of code that the trainers do not link: word_differences_html
/// (apps/report/sections.h) compares two runs of lm_train word by word.
///
/// Throws Error when there is no run, or a directory or its log cannot be read.
struct Report {
  std::string page;
  /// What could not be read, or cannot be of a run, each after the run's name.
  std::vector<std::string> notes;
};
Report report_page(const std::vector<std::filesystem::path>& directories,
                   ReportSection* more = nullptr);

/// Writes the page beside `output` and renames it, so a reader never sees half a page; "-" is
/// standard output. Returns the notes. Throws Error, too, when the page cannot be written.
std::vector<std::string> write_report(const std::vector<std::filesystem::path>& directories,
                                      const std::filesystem::path& output,
                                      ReportSection* more = nullptr);

}  // namespace nine::app
