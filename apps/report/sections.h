// The sections of the report page, from top to bottom. The function NAME_html is in
// section_NAME.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/report/run_log.h"

namespace nine::app {

/// Title, how far the run or the runs came, and what could not be read.
std::string header_html(const std::vector<Run>& runs);

/// Of one run a tile a figure, of several a table with a row a run.
std::string summary_html(const std::vector<Run>& runs);

/// The charts of apps/report/run_charts.h.
std::string charts_html(const std::vector<Run>& runs);

/// The last validation's sample translations, with attention where there is one run; of several
/// runs the sentences of the first that has some. Empty when there are none.
std::string translations_html(const std::vector<Run>& runs);

/// How the Transformer language model of a single run looked back over sentences of the validation
/// text. Empty for several runs, and where the log has none.
std::string attention_html(const std::vector<Run>& runs);

/// The words on which two language models differ most: the best checkpoints of `directories`,
/// scored on the validation text that their config.json names. Throws Error unless there are two
/// runs with checkpoints and the same validation text.
std::string word_differences_html(const std::vector<Run>& runs,
                                  const std::vector<std::filesystem::path>& directories);

/// Final figures and every validation.
std::string tables_html(const std::vector<Run>& runs);

/// The settings: of one run the main ones, of several those that differ; all of them behind a line
/// that unfolds them.
std::string settings_html(const std::vector<Run>& runs);

}  // namespace nine::app
