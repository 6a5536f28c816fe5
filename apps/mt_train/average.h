// Checkpoint averaging: the mean of a run's last weights as a checkpoint of its own.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/options.h"

namespace nine::app {

/// Writes the mean of the weights of the run's last `count` checkpoints up to `latest` (every one
/// verified as if the run went on from it) into RUN/average, a directory of checkpoints with this
/// one: `--checkpoint RUN/average` opens it. The other files are the last one's. Sums are made in
/// double, in order of steps, so that the same checkpoints give the same bytes. Returns the
/// program's exit code. `flags` are the program's. Errors: fewer checkpoints; a damaged one;
/// read_run_config()'s, require_own_checkpoint()'s, read_training_weights()'; a table of positions
/// that is not training's.
int write_average(const Options& flags, const std::string& run, int64_t count);

}  // namespace nine::app
