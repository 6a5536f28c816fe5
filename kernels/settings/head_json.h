// The configuration of an output layer in the form of configuration files.
#pragma once

#include "core/json.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// Returns a configuration with all defaults resolved, under the names of HeadSettings. It is
/// defined in head_config.cpp, beside the table of these names.
Json to_json(const HeadConfig& config);

}  // namespace nine
