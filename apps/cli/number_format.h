// Numbers for people, as progress lines show them.
#pragma once

#include <cstdint>
#include <string>

namespace nine::app {

/// 12,345 below 100,000, then three digits: 123K 1.9M 19.4M 2.1G.
std::string human_count(double n);

/// Things a second, without unit: 0.25 3.2 17 12,345 1.9M.
std::string human_rate(double n);

/// 0.4s 12s 3m12s 1h02m 2d03h; "?" when negative or not finite.
std::string human_duration(double seconds);

}  // namespace nine::app
