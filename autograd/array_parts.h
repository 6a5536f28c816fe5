// What the files of arrays.h share.
#pragma once

#include <array>

#include "autograd/tape.h"
#include "core/array_ops.h"

namespace nine {

/// The sizes of a shape's dimensions; 0 for those that it lacks.
using Sizes = std::array<int64_t, Shape::kMaxRank>;

inline Sizes sizes_of(const Shape& shape) {
  Sizes sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[static_cast<size_t>(i)] = shape[i];
  return sizes;
}

/// Returns x without gaps between its elements: x itself, or a copy.
Var contiguous(const Var& x);

/// Memory of the pool that is in use while this object exists.
class Block {
 public:
  Block(Tape& tape, const Shape& shape, DType dtype)
      : arena_(tape.arena()), tensor_(arena_.block(shape, dtype)) {}
  ~Block() { arena_.free_block(tensor_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  const View& view() const { return tensor_.view(); }

 private:
  Arena& arena_;
  Tensor tensor_;
};

/// Calls f(OutputView) with a contiguous place for x's gradient; f writes it.
template <class F>
void write_gradient(const Var& x, F&& f) {
  if (!x.needs_grad()) return;
  const OutputView dx = x.grad_input();
  if (dx.view.contiguous()) return f(dx);
  const Block packed(x.tape(), dx.view.shape, dx.view.dtype);
  f(OutputView{packed.view()});
  ops::copy_strided(packed.view(), dx.view, dx.add);
}

}  // namespace nine
