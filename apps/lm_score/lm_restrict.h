// lm_score --restrict: the words of sets that one or two models choose, as a table, as JSON, or as
// a line for each choice.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "core/device.h"
#include "data/measures/bootstrap.h"

namespace nine::app {

/// The settings of --restrict.
struct RestrictOptions {
  std::string sets;  ///< the file of sets
  int64_t batch_tokens = 4096;
  BootstrapOptions bootstrap;
  bool json = false;
  bool choices = false;  ///< true: write every choice instead of measures
  Device device;
};

/// Writes the measures of one model (one checkpoint), or the comparison of two models, on `lines`,
/// or each choice of the models, as docs/restrict.md describes. Names words that a model does not
/// know on standard error. Processes share the text; each process writes the whole output.
void write_restricted(const std::vector<std::string>& checkpoints,
                      std::span<const std::string> lines, const RestrictOptions& options,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
