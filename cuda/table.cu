// CUDA's op table.
#include "core/op_table.h"
#include "cuda/clock.cuh"
#include "cuda/cuda.h"
#include "cuda/device.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {

void install() {
  OpTable table{.allocate = allocate,
                .release = release,
                .available = available,
                .clear = clear,
                .copy_bytes = copy_bytes,
                .clock = clock};
#define NINE_SET_OP(name) table.name = name;
  NINE_FOR_EACH_OP(NINE_SET_OP)
#undef NINE_SET_OP
  install_op_table(DeviceKind::cuda, table);
}

bool built() { return true; }
int devices() { return visible_devices(nullptr); }

}  // namespace nine::cuda
