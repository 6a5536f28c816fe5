// Short texts for numbers, as in progress lines.
#pragma once

#include <cstdint>
#include <string>

namespace nine::app {

/// Returns a count: 12,345 below 100,000, otherwise three digits: 123K 1.9M 19.4M 2.1G; "?" if it
/// is not finite.
std::string short_count(double n);

/// Returns a number per second, without unit: 0.25 3.2 17 12,345 1.9M.
std::string short_rate(double n);

/// Returns a duration: 0.4s 12s 3m12s 1h02m 2d03h; "?" if it is negative or not finite.
std::string short_duration(double seconds);

}  // namespace nine::app
