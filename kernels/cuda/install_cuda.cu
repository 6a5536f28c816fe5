#include "kernels/install_cuda.h"

#include "cuda/cuda.h"
#include "cuda/turn.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/op_table.h"

namespace nine {

void install_cuda() {
  cuda::install();
  HeadOpTable table;
#define NINE_SET_OP(name) table.name = cuda::in_turn<cuda::name>;
  NINE_FOR_EACH_HEAD_OP(NINE_SET_OP)
#undef NINE_SET_OP
  install_head_op_table(DeviceKind::cuda, table);
}

}  // namespace nine
