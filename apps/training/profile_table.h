// --profile: what the parts of a step cost, beside what this machine could do.
#pragma once

#include <cstdint>
#include <cstdio>

#include "core/device.h"
#include "core/tensor.h"

namespace nine::app {

/// What the machine reaches, measured now (about half a second): on the CPU with all threads, on a
/// GPU with its own ops.
struct MachineRates {
  /// Operations a second of float32 products at the precision that is set: of a tile in cache
  /// (machine_rates.h); on a GPU of one large product.
  double flops = 0;
  double bytes = 0;  ///< bytes a second of a triad over memory; on a GPU of a sum of two tensors
  Device device = kCpu;
};
MachineRates measure_machine(Device device = kCpu);

/// Fills a contiguous float32 tensor on any device with numbers of [-1, 1). A GPU multiplies
/// constant numbers faster than a model's, because fewer of its wires switch and it needs less
/// power.
void fill_randomly(const Tensor& t);

/// Prints the profile's ops since reset(): time, share, rate, the time that its roofline predicts,
/// and how near the op comes to it. The roofline is the longer of operations / rate and bytes /
/// bandwidth. `steps` divides the totals.
void print_profile(std::FILE* out, const MachineRates& machine, int64_t steps);

}  // namespace nine::app
