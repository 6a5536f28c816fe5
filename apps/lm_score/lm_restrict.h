// lm_score --restrict: which word of a set do one or two models choose, as a table, JSON, or a line
// for each choice.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "core/device.h"
#include "data/measures/bootstrap.h"

namespace nine::app {

/// What --restrict is asked.
struct RestrictOptions {
  std::string sets;  ///< the file of sets
  int64_t batch_tokens = 4096;
  BootstrapOptions bootstrap;
  bool json = false;
  bool choices = false;  ///< every choice in place of measures
  Device device;
};

/// Writes the measures of one model (one checkpoint) or the comparison of two on `lines`, or each
/// choice of theirs, as docs/restrict.md describes. Words that a model does not know are named on
/// standard error. Processes share the text out; each writes everything.
void write_restricted(const std::vector<std::string>& checkpoints,
                      std::span<const std::string> lines, const RestrictOptions& options,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
