// Working memory of a thread for one op: kept and reused, never given back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nine {

/// Who uses it; an op and what it calls must not share a name on one thread.
enum class Scratch : int { gemm_b, tile, products, lanes, reduction, rounds, count };

namespace detail {
void* scratch_bytes(Scratch user, size_t bytes);
}

/// At least n elements, 64-byte aligned, contents undefined, valid until this thread asks again
/// under the same name.
template <class T>
T* scratch(Scratch user, int64_t n) {
  return static_cast<T*>(detail::scratch_bytes(user, static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace nine
