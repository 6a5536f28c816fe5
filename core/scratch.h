// Working memory of the running thread for one op. It is kept and reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nine {

/// The separate buffers of each thread, named by their contents. An op and the functions that it
/// calls must use different buffers.
enum class Scratch : int {
  gemm_a,
  gemm_b,
  tile,
  products,
  lanes,
  reduction,
  rounds,
  packed_left,  // factors in bfloat16 pieces
  packed_right,
  packed_words,
  kept_tiles,   // flags of tiles
  kept_blocks,  // numbers of the blocks of terms that a product takes
  count
};

namespace detail {
void* scratch_bytes(Scratch buffer, size_t bytes);
}

/// Returns at least n elements, 64-byte aligned, with undefined contents. Valid until this thread
/// calls scratch() for the same buffer again.
template <class T>
T* scratch(Scratch buffer, int64_t n) {
  return static_cast<T*>(detail::scratch_bytes(buffer, static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace nine
