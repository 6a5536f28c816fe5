// Short texts for numbers, as in progress lines.
#pragma once

#include <cstdint>
#include <string>

namespace nine::app {

/// A count: 12,345 below 100,000, then three digits: 123K 1.9M 19.4M 2.1G; "?" when not finite.
std::string short_count(double n);

/// A number per second, without unit: 0.25 3.2 17 12,345 1.9M.
std::string short_rate(double n);

/// 0.4s 12s 3m12s 1h02m 2d03h; "?" when negative or not finite.
std::string short_duration(double seconds);

}  // namespace nine::app
