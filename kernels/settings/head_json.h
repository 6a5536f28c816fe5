// The configuration of an output layer as it is written into configuration files.
#pragma once

#include "core/json.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// A configuration with everything resolved, under the names of HeadSettings; beside their table in
/// head_config.cpp.
Json to_json(const HeadConfig& config);

}  // namespace nine
