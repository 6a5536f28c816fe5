// Arrays of plain data in an arena.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/arena.h"
#include "core/isa.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Returns temporary memory of the arena for n objects of plain data.
template <class P>
P* pool_array(Arena& arena, int64_t n) {
  static_assert(std::is_trivially_destructible_v<P> && alignof(P) <= 64);
  const int64_t doubles = (n * static_cast<int64_t>(sizeof(P)) + 7) / 8;
  return static_cast<P*>(arena.temporary({doubles}, DType::float64).view().data);
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
