// --profile: what the parts of a step cost, beside what this machine could do.
#pragma once

#include <cstdint>
#include <cstdio>

namespace nine::app {

/// What the machine reaches, measured now on all threads (about half a second).
struct MachineRates {
  double flops = 0;  ///< operations a second of a tile product in cache, float32
  double bytes = 0;  ///< bytes a second of a triad over memory
};
MachineRates measure_machine();

/// Prints the profile's ops since reset(): time, share, rate, and how near each comes to its
/// roofline, which is the longer of operations / rate and bytes / bandwidth. `steps` divides the
/// totals.
void print_profile(std::FILE* out, const MachineRates& machine, int64_t steps);

}  // namespace nine::app
