// Puts work for a GPU into the order of another library's stream, so that both libraries can use
// the same tensors.
#pragma once

namespace nine::cuda {

/// A span of work within another library's stream. `index` is the number of a GPU, and `stream` a
/// cudaStream_t of this GPU; null: CUDA's default stream. Ops that Nine submits while the object
/// exists run after the work that `stream` has at construction. Work that `stream` gets after the
/// destruction runs after these ops. The host does not wait. So an op may read tensors that the
/// other library's earlier work fills, and write tensors that its later work reads
/// (Tensor::view_of). Call nine::install_cuda() first. Errors: a build without CUDA; there is no
/// GPU of this number; a call of CUDA fails.
class CallerStream {
 public:
  CallerStream(int index, void* stream);
  ~CallerStream();  // NOLINT(performance-trivially-destructible): empty in a build without CUDA
  CallerStream(const CallerStream&) = delete;
  CallerStream& operator=(const CallerStream&) = delete;

 private:
  int index_ = 0;
  void* stream_ = nullptr;
};

}  // namespace nine::cuda
