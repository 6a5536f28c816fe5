// The figures that sum up a run.
#pragma once

#include <string>
#include <vector>

#include "apps/report/run_log.h"

namespace nine::app {

/// kAbsent where the log does not have it.
struct Figures {
  double best_valid_ppl = kAbsent;
  double best_step = kAbsent;
  double best_bleu = kAbsent;
  double test_ppl = kAbsent;
  // Of raw texts, of the same models.
  double valid_bits = kAbsent, test_bits = kAbsent;
  double tokens_per_s = kAbsent;  // median over the train events
  double peak_mib = kAbsent;      // largest
  double not_finite = 0;          // train and valid events without a finite loss or perplexity
  double first_not_finite = kAbsent;
};

/// The figures of `run`. Those in the log's last line are taken before those found in its events.
Figures figures_of(const Run& run);

/// True when the loss differs from the negative log-likelihood: smoothing, regularisers.
bool has_own_objective(const Run& run);

/// The validation of the best model: the last one that the log calls the best so far, in a log that
/// calls none so the one with the lowest perplexity. After a best model was lost, earlier ones do
/// not count, and the one of the step that took its place is the best until another is. Null when
/// there is none.
const Entry* best_validation(const Run& run);

/// True if a run's validation begins each sentence from a fresh state, as with --sentences.
bool begins_afresh(const Run& run);

/// Returns a sentence that says why the runs' perplexities do not compare: their tasks, validation
/// texts, vocabularies or ways to read the text differ. Empty if they do, or if the runs'
/// config.json files do not say.
std::string why_incomparable(const std::vector<Run>& runs);

/// Returns what the page says of the runs together: why_incomparable(), and that their test texts
/// differ. Empty if nothing is to be said.
std::vector<std::string> comparison_notes(const std::vector<Run>& runs);

}  // namespace nine::app
