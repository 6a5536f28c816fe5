// What lm_rescore prints and writes: error rates, their comparison, files for sclite.
#pragma once

#include "apps/lm_rescore/choose.h"
#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// The words to which the rescored words are compared by their errors, utterance by utterance.
struct Comparison {
  std::string name;
  std::vector<std::string> words;  ///< of the first pass, or of --baseline
  std::vector<size_t> groups;      ///< what is drawn together, numbered from 0 (--group-by)
};
/// Returns the words of --baseline, or else those of the first pass, and the groups of --group-by.
/// Returns an empty comparison for --measure bleu and without a reference. Errors: the file of
/// --baseline or --group-by is wrong or lacks an utterance; several utterances form a single group;
/// the references have no words; with --margin-wer, fewer than two utterances or groups have
/// reference words.
Comparison read_comparison(const RescoreOptions& options, const RescoredLists& lists);

/// Checks before the long work that --output-nbest and --output can be written. Errors:
/// --output-nbest cannot be opened; those of require_output_directory(), require_no_run() and
/// require_output_files(); --output has a file of kResultFiles, but no results.json of lm_rescore.
void require_own_results(const RescoreOptions& options);

/// Writes the files of --output and prints the table or the JSON, as docs/rescoring.md describes.
/// Error: a file cannot be written.
void report_rescoring(const RescoreOptions& options, const RescoredLists& lists,
                      const Comparison& comparison, const Choices& choices);

}  // namespace nine::app
