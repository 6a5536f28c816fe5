// The CUDA backend of a build without CUDA.
#include "core/error.h"
#include "core/op_table.h"
#include "cuda/cuda.h"

namespace nine::cuda {
namespace {

void* no_cuda(size_t, int) {
  fail("this build has no CUDA: run with device cpu, or build Nine where nvcc is found");
}

}  // namespace

void install() {
  OpTable table;
  table.allocate = no_cuda;  // nothing of such a device can exist before this throws
  install_op_table(DeviceKind::cuda, table);
}

bool built() { return false; }
int devices() { return 0; }
void set_precision(Precision) {}

}  // namespace nine::cuda
