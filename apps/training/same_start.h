// Whether the processes of a run were started alike.
#pragma once

#include <string>

#include "core/communicator.h"
#include "core/json.h"

namespace nine::app {

/// Compares every process's configuration (the options, and `resolved`: data, instruction set,
/// versions) with rank 0's, but for what may differ from machine to machine. UsageError, in all
/// processes: it names the first process that differs, its machine and the difference.
void require_same_start(Communicator& communicator, const Json& config);

}  // namespace nine::app
