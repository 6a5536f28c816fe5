// A table of function pointers for each kind of device: the head's ops that a backend implements
// besides core/op_table.h. The ops come from kernels/op_list.h and have the signatures of
// kernels/ops.h. kernels/cpu/table.cpp fills the CPU's table, nine::install_cuda()
// (kernels/install_cuda.h) CUDA's.
#pragma once

#include "core/device.h"
#include "kernels/op_list.h"
#include "kernels/ops.h"

namespace nine {

struct HeadOpTable {
#define NINE_OP_MEMBER(name) decltype(&ops::name) name = nullptr;
  NINE_FOR_EACH_HEAD_OP(NINE_OP_MEMBER)
#undef NINE_OP_MEMBER
};

/// Returns the head's table of a device. Error: its backend is not installed.
const HeadOpTable& head_op_table(Device device);
/// Installs `table` for a kind of device; backends call it.
void install_head_op_table(DeviceKind kind, const HeadOpTable& table);

}  // namespace nine
