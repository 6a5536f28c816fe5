#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/text_io.h"
#include "apps/lm_train/lm_data.h"
#include "apps/report/figures.h"
#include "apps/report/run_label.h"
#include "apps/report/sections.h"
#include "apps/report/table.h"
#include "apps/svg/text.h"
#include "apps/training/run_inputs.h"
#include "core/error.h"
#include "core/json.h"
#include "core/number_format.h"
#include "data/sample/sample.h"
#include "nn/models/compare_models.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;
constexpr size_t kShown = 15;

// Why `lines` are not the text of a run with such a configuration, or nothing: checksums, as
// "checksum 5, the run's is 7".
std::string difference_of(const std::vector<std::string>& lines, const Json& config,
                          const fs::path& run) {
  const Json resolved = config.value("resolved", Json::object()),
             identity = resolved.value(kIdentity, Json::object());
  uint32_t own = 0, of_run = 0;
  if (identity.contains("valid")) {
    LineChecksum checksum;
    for (const std::string& line : lines) checksum.add(std::string_view(line));
    own = checksum.value();
    of_run = identity["valid"];
  } else if (resolved.contains("valid_crc32c")) {  // of versions up to 0.2.0: of the ids
    const fs::path dictionary = model_directory(run.string(), kDictionaryFile) / kDictionaryFile;
    own = Corpus::of_lines(lines, Vocabulary::read_saved(dictionary, Specials::kLanguageModel))
              .id_checksum();
    of_run = resolved["valid_crc32c"];
  }
  return own == of_run ? "" : concat("checksum ", own, ", the run's is ", of_run);
}

// The text that a run of lm_train was validated on, from its config.json. Error: the files are
// gone, or other ones have their names now.
std::vector<std::string> validation_lines(const fs::path& run) {
  const Json config =
      read_json_object(run / "config.json", ": the report takes the validation text from it");
  require(!config.contains("src_dict"), "[report] ", run.string(),
          " is a run of mt_train: --differences compares words of two runs of lm_train");
  require(config.value("text", std::vector<std::string>()).empty(), "[report] ", run.string(),
          " reads raw text, whose tokens are parts of words: --differences compares words");
  std::vector<std::string> lines;
  std::string names;
  if (config.value("sample", false)) {
    names = "the built-in sample";
    lines =
        SampleLanguage().generate(config.value("seed", uint64_t{1}), "valid", kSampleHeldOut).lines;
  }
  for (const std::string& file : config.value("valid", std::vector<std::string>())) {
    const std::vector<std::string> more = read_lines(file);
    lines.insert(lines.end(), more.begin(), more.end());
    names += (names.empty() ? "" : ", ") + file;
  }
  require(!names.empty(), "[report] ", run.string(),
          " had no validation text (--valid): there is nothing to compare words on");
  const std::string difference = difference_of(lines, config, run);
  require(difference.empty(), "[report] ", names, " is not the text that ", run.string(),
          " was validated on (", difference,
          "); start nine_report where the run was started, or put that text under that name");
  return lines;
}

// The words that are likelier under the second of the two runs, or under the first. The differences
// are sorted by the second run's gain, the largest first.
std::string words_table(const WordDifferences& differences, bool second, const std::string& name) {
  Table table{concat("Likelier under ", name),
              {"Word", "Occurrences", "Gain, nats", "Per occurrence"},
              {},
              true,
              -1};
  for (size_t i = 0; i < std::min(kShown, differences.words.size()); ++i) {
    const WordDifference& w = differences.words[second ? i : differences.words.size() - 1 - i];
    const double gain = second ? w.gain : -w.gain;
    if (gain > 0)
      table.rows.push_back({isolated(w.word), count(static_cast<double>(w.count)), figure(gain),
                            figure(gain / static_cast<double>(w.count))});
  }
  return table.rows.empty() ? "<p class=\"quiet\">" + table.caption + ": none.</p>\n"
                            : table_html(table);
}

}  // namespace

std::string word_differences_html(const std::vector<Run>& runs,
                                  const std::vector<fs::path>& directories) {
  require(directories.size() == 2, "[report] --differences compares two runs, but ",
          directories.size(), " were given");
  const std::vector<std::string> lines = validation_lines(directories[0]);
  require(
      lines == validation_lines(directories[1]),
      "[report] the two runs were validated on different texts: their words cannot be compared");
  const bool first_afresh = begins_afresh(runs[0]),
             carried = !first_afresh && !begins_afresh(runs[1]);
  const WordDifferences differences = word_differences(
      directories[0].string(), directories[1].string(), lines, {.carry_state = carried}, kCpu);
  require(differences.tokens > 0,
          "[report] the validation text fills no row of 10 columns: it is too short to compare "
          "words on");
  const auto tokens = static_cast<double>(differences.tokens);
  const double ratio = std::exp(-differences.gain / tokens);
  std::string names[2];
  for (size_t i = 0; i < 2; ++i) names[i] = run_label(runs, i);
  std::string out =
      concat("<section id=\"words\">\n<h2>Where they differ: words</h2>\n<p class=\"lead\">On the ",
             count(tokens), " validation tokens, the best model of ", names[1], " has ",
             std::isfinite(ratio) ? figure(ratio) : power_of_e(-differences.gain / tokens, 0),
             " times the perplexity of ", names[0],
             ". A word’s gain is the sum of differences of its log-probabilities. The state is ",
             carried ? "carried from sentence to sentence" : "fresh at the start of each sentence",
             ", as in ",
             first_afresh == begins_afresh(runs[1])
                 ? concat("both validations.")
                 : concat("the validation of ", names[first_afresh ? 0 : 1], ", but not of ",
                          names[first_afresh ? 1 : 0], "."));
  if (differences.left_out > 0)
    out += concat(" ", count(static_cast<double>(differences.left_out)),
                  " tokens that not both models know are left out.");
  return out + "</p>\n<div class=\"pair\">\n" +
         words_table(differences, true, isolated(runs[1].name)) +
         words_table(differences, false, isolated(runs[0].name)) + "</div>\n</section>\n";
}

}  // namespace nine::app
