// lm_score --compare: compares the predictions of two models and writes a table.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "nn/models/compare_models.h"

namespace nine::app {

/// The settings of a comparison.
struct CompareOptions {
  ScoringOptions scoring;
  int64_t resamples = 1000;
  int64_t worst = 10;  ///< number of sentences to list for each model
  uint64_t seed = 1;
  Device device;
};

/// Compares the models at a and b on `lines` (compare_models) and writes the output that
/// docs/lm_score.md describes. Processes share the scoring; each process writes the whole output.
void write_comparison(const std::string& a, const std::string& b,
                      std::span<const std::string> lines, const CompareOptions& options,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
