// One table of function pointers for each kind of device: what a backend has to provide. Memory is
// listed here; the ops come from core/op_list.h and have the signatures of core/ops.h, so that an
// op is declared once and a backend whose signature differs does not compile. core fills the CPU's
// table; nine::install_cuda() (kernels/install_cuda.h) fills CUDA's.
#pragma once

#include "core/device.h"
#include "core/op_list.h"
#include "core/ops.h"
#include "core/profile.h"

namespace nine {

struct OpTable {
  // Memory. `index` says which device of this kind.

  /// 64-byte aligned memory; an Error when there is not enough.
  void* (*allocate)(size_t bytes, int index) = nullptr;
  void (*release)(void* p, int index) = nullptr;
  /// Bytes that a pool may take.
  size_t (*available)(int index) = nullptr;
  /// Sets `bytes` bytes to zero.
  void (*clear)(void* p, size_t bytes, int index) = nullptr;
  /// y = x byte by byte, for views of one shape and dtype. One side is on this device, the other on
  /// this device or the CPU.
  void (*copy_bytes)(const View& x, const View& y) = nullptr;
  /// The device's clock; null where the host's is its own.
  profile::DeviceClock* (*clock)(int index) = nullptr;

  // The ops.

#define NINE_OP_MEMBER(name) decltype(&ops::name) name = nullptr;
  NINE_FOR_EACH_OP(NINE_OP_MEMBER)
#undef NINE_OP_MEMBER
};

/// The table of a device; an Error when its backend was not installed.
const OpTable& op_table(Device device);
/// For backends: installs `table` for this kind of device.
void install_op_table(DeviceKind kind, const OpTable& table);

}  // namespace nine
