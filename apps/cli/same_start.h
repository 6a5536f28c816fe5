// Whether processes that work together were started alike.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "core/communicator.h"
#include "core/json.h"

namespace nine::app {

/// Compares every process's configuration (all options, and `resolved`: data, instruction set,
/// versions) with rank 0's, but for threads and waiting, and for the paths of inputs whose
/// checksums both have under `resolved.identity`. UsageError, in all processes: it names the first
/// process that differs, its machine and the difference.
void require_same_start(Communicator& communicator, const Json& config);

/// The same for programs that use models: options (rank 0 alone reads the files of text that they
/// name), version, instruction set, and the bytes of the `models` (paths as model_directory() takes
/// them) and `files`; empty names are none. UsageError too: --device is no CPU. One process is not
/// looked at.
void require_same_use(Communicator& communicator, const Options& options,
                      const std::vector<std::string>& models,
                      const std::vector<std::string>& files = {});

}  // namespace nine::app
