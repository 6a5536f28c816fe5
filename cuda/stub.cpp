// cuda/cuda.h in a build without CUDA.
#include "core/caller_stream.h"
#include "core/error.h"
#include "core/op_table.h"
#include "cuda/cuda.h"

namespace nine::cuda {
namespace {

[[noreturn]] void no_cuda() {
  fail(
      "this build has no CUDA: set the device to cpu, or configure Nine with -DNINE_CUDA=ON, which "
      "needs nvcc (docs/cuda.md)");
}

}  // namespace

void install() {
  // The functions by which tensors and pools get memory: nothing uses a device before them.
  OpTable table;
  table.allocate = [](size_t, int) -> void* { no_cuda(); };
  table.available = [](int) -> size_t { no_cuda(); };
  install_op_table(DeviceKind::cuda, table);
}

bool built() { return false; }
int devices() { return 0; }
void use_graphs(bool) {}
void use_side_by_side(bool) {}
Description describe(int) { no_cuda(); }
CallerStream::CallerStream(int, void*) { no_cuda(); }
CallerStream::~CallerStream() = default;

}  // namespace nine::cuda
