// What lm_rescore prints and writes: error rates, their comparison, files for sclite.
#pragma once

#include "apps/lm_rescore/choose.h"
#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// With what the rescored words' errors are compared, utterance by utterance.
struct Comparison {
  std::string name;
  std::vector<std::string> words;  ///< of the first pass, or of --baseline
  std::vector<size_t> groups;      ///< what is drawn together, numbered from 0 (--group-by)
};
/// Reads it; for --measure bleu there is none. Errors: --baseline's or --group-by's file is wrong
/// or lacks an utterance; several utterances are all one group; --margin-wer with one utterance;
/// the references have no words.
Comparison read_comparison(const RescoreOptions& options, const RescoredLists& lists);

/// Whether --output can be written, before the long work. Errors: require_output_directory()'s,
/// require_no_run()'s, require_output_files()'s; a file of those names is there that no earlier
/// rescoring wrote.
void require_own_results(const RescoreOptions& options);

/// Writes the files of --output and prints the table or the JSON, as docs/rescoring.md describes.
/// Error: a file cannot be written.
void report_rescoring(const RescoreOptions& options, const RescoredLists& lists,
                      const Comparison& comparison, const Choices& choices);

}  // namespace nine::app
