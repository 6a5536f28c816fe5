// Whether a checkpoint or a log that a run reads is its own.
#pragma once

#include <filesystem>
#include <vector>

#include "apps/cli/options.h"
#include "apps/training/run_inputs.h"
#include "nn/training/checkpoint.h"

namespace nine::app {

/// UsageError, which names both files and what differs with both values: the checkpoint's
/// config.json is of another run than `config`, which is or will be the run's `config_file`.
/// Compared are the options that are not free when a run goes on, the inputs, and what decides on
/// the order of the data and of sums; and the words of the checkpoint's dictionaries with what its
/// config.json says of them. `former`: the run's inputs as older versions knew them.
void require_own_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& config_file,
                            const Json& config, const Options& flags,
                            const std::vector<RunInputs::Former>& former = {});

/// The same of the checkpoint of `step` in RUN/checkpoints, where that is there and intact. Errors,
/// too: read_training_weights()'.
void require_own_best(const std::filesystem::path& checkpoints, int64_t step,
                      const std::filesystem::path& config_file, const Json& config,
                      const Options& flags, const std::vector<RunInputs::Former>& former);

/// UsageError, which names the log's line and both values: RUN/log.jsonl is of another run than the
/// checkpoint that the run goes on from. Compared are the counts of its `start` line with `start`,
/// and with the checkpoint's state the nats of the best validation and of the last `train` line. A
/// line that the log lacks is not compared.
void require_own_log(const std::filesystem::path& log, const Checkpoint& checkpoint,
                     const Json& start);

/// config.json's `resolved`. Error, which names the file: it, or its identity, is no object.
Json resolved_of(const Json& config, const std::filesystem::path& file);

}  // namespace nine::app
