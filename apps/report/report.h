// The report page of one or several runs.
#pragma once

#include <filesystem>
#include <vector>

namespace nine::app {

/// Writes one self-contained HTML file about the runs of `directories`, each with a `log.jsonl` and
/// a `config.json`. One run gets a page about itself; several are compared: overlaid curves,
/// figures side by side, the settings that differ. The logs may be those of runs that are still
/// training: a half-written last line, missing fields and values that are not finite are fine. The
/// file is written beside `output` and renamed, so a reader never sees half a page; "-" is standard
/// output.
///
/// With `word_differences`, two runs of lm_train are also compared word by word: their best models
/// score the validation text, which takes as long as two validations.
///
/// Throws Error when there is no run, a directory or its log cannot be read, or the page cannot be
/// written.
void write_report(const std::vector<std::filesystem::path>& directories,
                  const std::filesystem::path& output, bool word_differences = false);

}  // namespace nine::app
