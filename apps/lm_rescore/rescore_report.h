// What lm_rescore prints and writes: error rates, their comparison, files for sclite.
#pragma once

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// Writes the files of --output and prints the table or the JSON, as docs/rescoring.md describes.
/// Errors: --baseline or --group-by's file lack an utterance; a file cannot be written.
void report_rescoring(const RescoreOptions& options, const RescoredLists& lists,
                      const RescoringWeights& weights);

}  // namespace nine::app
