// bfloat16 in kernels, as the upper half of a float32 (core/dtype.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/launch.cuh"

namespace nine::cuda {

/// The upper half of a float32, rounded to nearest, ties to even; a NaN stays a NaN.
NINE_D inline uint16_t bf16_bits(float x) {
  uint32_t u = 0;
  memcpy(&u, &x, sizeof u);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
NINE_D inline float bf16_value(uint16_t bits) {
  const uint32_t u = static_cast<uint32_t>(bits) << 16;
  float x = 0;
  memcpy(&x, &u, sizeof x);
  return x;
}
/// The bfloat16 nearest to x, which keeps the rest.
NINE_D inline uint16_t next_piece(float& x) {
  const uint16_t piece = bf16_bits(x);
  x -= bf16_value(piece);
  return piece;
}

}  // namespace nine::cuda
