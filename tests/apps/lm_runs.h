// What the suites of lm_train share.
#pragma once

#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

using Strings = std::vector<std::string>;

/// The flags of a small training on the sample text: some 190 updates an epoch, a fraction of a
/// second.
Strings small(const std::string& run, const Strings& more = {});

}  // namespace nine::tests
