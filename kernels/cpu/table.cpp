// Defines the CPU's table of the head's ops, and the tables of all devices.
#include "core/dispatch.h"
#include "core/error.h"
#include "kernels/op_table.h"

NINE_CPU_TABLE(nine::HeadOpTable)

namespace nine {
namespace {

HeadOpTable cpu_table() {
  HeadOpTable table;
  cpu::install_best(table);
  return table;
}

HeadOpTable* tables() {
  static HeadOpTable all[kDeviceKinds] = {cpu_table(), {}};
  return all;
}

}  // namespace

const HeadOpTable& head_op_table(Device device) {
  const HeadOpTable& t = tables()[static_cast<int>(device.kind)];
  require(t.head_scores != nullptr, "device ", device,
          " cannot be used for heads: this program has not installed a backend for it; call "
          "nine::install_cuda() first");
  return t;
}

void install_head_op_table(DeviceKind kind, const HeadOpTable& table) {
  tables()[static_cast<int>(kind)] = table;
}

}  // namespace nine
