// Device memory of the stand-in.
#pragma once

#include "tests/cuda_on_host/cuda_runtime.h"

namespace cuda_on_host {

/// While an object exists, the host can access device memory: a kernel runs, or a copy.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

bool is_device(const void* p);
int64_t graphs_launched();

}  // namespace cuda_on_host
