// cuda/cuda.h in a build without CUDA.
#include "core/error.h"
#include "core/op_table.h"
#include "cuda/cuda.h"

namespace nine::cuda {
namespace {

void* no_cuda(size_t, int) {
  fail("this build has no CUDA: set the device to cpu, or build Nine where nvcc is found");
}

}  // namespace

void install() {
  OpTable table;
  table.allocate = no_cuda;  // the first function that any use of such a device calls
  install_op_table(DeviceKind::cuda, table);
}

bool built() { return false; }
int devices() { return 0; }
void set_precision(Precision) {}
void set_head_spare_bytes(int64_t) {}

}  // namespace nine::cuda
