// Numbers as people read them.
#pragma once

#include <string>

namespace nine {

/// `value` with exactly `decimals` of them, correctly rounded, whatever the locale.
std::string fixed(double value, int decimals);

}  // namespace nine
