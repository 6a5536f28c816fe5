// A table of function pointers for each kind of device: the functions that a backend provides.
// Functions for memory are listed here. The ops come from core/op_list.h and have the signatures of
// core/ops.h, so that an op is declared once, and a backend with another signature does not
// compile. core fills the CPU's table; nine::install_cuda() (kernels/install_cuda.h) fills CUDA's
// table.
#pragma once

#include "core/array_ops.h"
#include "core/device.h"
#include "core/op_list.h"
#include "core/profile.h"

namespace nine {

struct OpTable {
  // Memory. `index` is the number of the device of this kind.

  /// Returns memory aligned to 64 bytes. OutOfMemory: the device has not enough.
  void* (*allocate)(size_t bytes, int index) = nullptr;
  void (*release)(void* p, int index) = nullptr;
  /// Returns the bytes that a pool may take.
  size_t (*available)(int index) = nullptr;
  /// Sets `bytes` bytes to zero.
  void (*clear)(void* p, size_t bytes, int index) = nullptr;
  /// Copies x to y byte by byte, for views of one shape and dtype. One side is on this device, the
  /// other side on this device or the CPU.
  void (*copy_bytes)(const View& x, const View& y) = nullptr;
  /// Returns the device's clock; null if the host's clock measures the device too.
  profile::DeviceClock* (*clock)(int index) = nullptr;

  // The ops.

#define NINE_OP_MEMBER(name) decltype(&ops::name) name = nullptr;
  NINE_FOR_EACH_OP(NINE_OP_MEMBER)
#undef NINE_OP_MEMBER
};

/// Returns the table of a device. Error: no backend was installed for it.
const OpTable& op_table(Device device);
/// Installs `table` for a kind of device; for backends.
void install_op_table(DeviceKind kind, const OpTable& table);

}  // namespace nine
