// lm_score --compare: one model's predictions against another's, written as a table.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "nn/models/compare_models.h"

namespace nine::app {

/// How two models are compared.
struct CompareOptions {
  ScoringOptions scoring;
  int64_t resamples = 1000;
  int64_t worst = 10;  ///< sentences listed in each direction
  uint64_t seed = 1;
  Device device;
};

/// Compares the models at a and b on `lines` (compare_models) and writes what docs/lm_score.md
/// describes. Processes share the scoring out; each writes everything.
void write_comparison(const std::string& a, const std::string& b,
                      std::span<const std::string> lines, const CompareOptions& options,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
