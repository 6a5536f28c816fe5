// What lm_rescore prints and writes: error rates, their comparison, files for sclite.
#pragma once

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// Error, before anything is scored: --output is no directory and cannot become one, or no file
/// can be made in it.
void require_output_directory(const RescoreOptions& options);

/// Writes the files of --output and prints the table or the JSON, as docs/rescoring.md describes.
/// Errors: --baseline or --group-by's file lack an utterance; a file cannot be written.
void report_rescoring(const RescoreOptions& options, const RescoredLists& lists,
                      const RescoringWeights& weights);

}  // namespace nine::app
