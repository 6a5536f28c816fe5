// CUDA's op table.
#include "core/op_table.h"
#include "cuda/clock.cuh"
#include "cuda/cuda.h"
#include "cuda/device.cuh"
#include "cuda/ops.cuh"
#include "cuda/turn.cuh"

namespace nine::cuda {

void install() {
  OpTable table{.allocate = in_turn<allocate>,
                .release = in_turn<release>,
                .available = in_turn<available>,
                .clear = in_turn<clear>,
                .copy_bytes = in_turn<copy_bytes>,
                .clock = in_turn<clock>};
#define NINE_SET_OP(name) table.name = in_turn<name>;
  NINE_FOR_EACH_OP(NINE_SET_OP)
#undef NINE_SET_OP
  install_op_table(DeviceKind::cuda, table);
}

bool built() { return true; }
int devices() { return visible_devices(nullptr); }

}  // namespace nine::cuda
