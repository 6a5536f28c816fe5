// One table of function pointers for each kind of device: what a backend has to provide for the
// head, beside core/op_table.h. The ops come from kernels/op_list.h and have the signatures of
// kernels/ops.h. The CPU's table is filled by kernels/cpu/table.cpp, CUDA's by nine::install_cuda()
// (kernels/install_cuda.h).
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

/// The head's table of a device; an Error when its backend was not installed.
const HeadOpTable& head_op_table(Device device);
/// For backends: installs `table` for this kind of device.
void install_head_op_table(DeviceKind kind, const HeadOpTable& table);

}  // namespace nine
