// Working memory of the running thread for one op. It is kept and reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nine {

/// Names of the separate pieces of memory that a thread has. An op and the functions it calls must
/// use different names.
enum class Scratch : int { gemm_b, tile, products, lanes, reduction, rounds, count };

namespace detail {
void* scratch_bytes(Scratch user, size_t bytes);
}

/// At least n elements, 64-byte aligned, of undefined contents. Valid until this thread calls
/// scratch() with the same name again.
template <class T>
T* scratch(Scratch user, int64_t n) {
  return static_cast<T*>(detail::scratch_bytes(user, static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace nine
