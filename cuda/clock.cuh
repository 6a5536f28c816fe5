// The clock of a GPU, for --profile.
#pragma once

#include "core/profile.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// The clock of the device with this index; see OpTable::clock.
profile::DeviceClock* clock(int index);

}  // namespace nine::cuda
