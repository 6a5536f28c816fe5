// Products of small matrices by a warp: on tensor cores in TF32 and bfloat16, and in plain
// multiply-adds. All of them spread a result of 16 rows and 8 columns over the 32 lanes as the PTX
// instruction mma does: lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and 2 (l % 4) + 1.
// Layouts of the factors: "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16" in NVIDIA's PTX
// documentation. tests/cuda_on_host has no tensor cores: there the same lanes exchange the same
// fragments.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/bf16.cuh"
#include "cuda/launch.cuh"

namespace nine::cuda {

/// x rounded to TF32: 8 bits of exponent and 11 of significand, to nearest, ties away from zero.
NINE_D inline float tf32_of(float x) {
#ifdef __CUDACC__
  uint32_t u;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(x));
  return __uint_as_float(u);
#else
  uint32_t u = 0;
  memcpy(&u, &x, sizeof u);
  if ((u & 0x7f800000u) != 0x7f800000u) u = (u + 0x1000u) & ~0x1fffu;
  memcpy(&x, &u, sizeof x);
  return x;
#endif
}

/// What a lane holds of the factors: of A (16 rows) four registers, of B (8 columns) two. In TF32 a
/// register is a number, in bfloat16 two of neighbouring k, the lower one in the lower half.
struct Fragments {
  uint32_t a[4], b[2];
};

#ifndef __CUDACC__
namespace on_host {

/// Calls f(fragments of lane 0, ..., of lane 31): lanes show each other theirs.
template <class F>
void with_all(const Fragments& mine, const F& f) {
  const Fragments* p = &mine;
  std::memcpy(cuda_on_host::lane_slot(cuda_on_host::lane()), &p, sizeof p);
  cuda_on_host::sync_warp(false);
  const Fragments* all[kWarp];
  for (unsigned l = 0; l < kWarp; ++l)
    std::memcpy(&all[l], cuda_on_host::lane_slot(l), sizeof all[l]);
  f(all);
  cuda_on_host::sync_warp(false);
}
inline float number(uint32_t u) {
  float x = 0;
  std::memcpy(&x, &u, sizeof x);
  return x;
}

}  // namespace on_host
#endif

/// c += A B in TF32 for A (16 x 8) and B (8 x 8): a0 is (row l / 4, k = l % 4), a1 eight rows below
/// it, a2 and a3 four k after these; b0 is (k = l % 4, column l / 4), b1 four k after it. All lanes
/// call it.
NINE_D inline void mma_tf32(float (&c)[4], const Fragments& f) {
#ifdef __CUDACC__
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]));
#else
  on_host::with_all(f, [&](const Fragments* const* lanes) {
    const unsigned l = cuda_on_host::lane();
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = l / 4, column = 2 * (l % 4) + i % 2, lower = i / 2;
      for (unsigned k = 0; k < 8; ++k) {
        const float a = on_host::number(lanes[4 * row + k % 4]->a[lower + k / 4 * 2]),
                    b = on_host::number(lanes[4 * column + k % 4]->b[k / 4]);
        const bool rounded =
            !(tf32_of(a) < a || tf32_of(a) > a || tf32_of(b) < b || tf32_of(b) > b);
        nine::require(rounded, "[mma] a factor is not of TF32");
        c[i] += a * b;
      }
    }
  });
#endif
}

/// c += A B in bfloat16 for A (16 x 16) and B (16 x 8): a0 is (row l / 4, k = 2 (l % 4) and the
/// next one), a1 eight rows below it, a2 and a3 eight k after these; b0 is (k = 2 (l % 4) and the
/// next one, column l / 4), b1 eight k after it. All lanes call it.
NINE_D inline void mma_bf16(float (&c)[4], const Fragments& f) {
#ifdef __CUDACC__
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]));
#else
  on_host::with_all(f, [&](const Fragments* const* lanes) {
    const unsigned l = cuda_on_host::lane();
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = l / 4, column = 2 * (l % 4) + i % 2, lower = i / 2;
      for (unsigned k = 0; k < 16; ++k) {
        const unsigned from = k % 8 / 2, shift = k % 2 * 16;
        c[i] += bf16_value(
                    static_cast<uint16_t>(lanes[4 * row + from]->a[lower + k / 8 * 2] >> shift)) *
                bf16_value(static_cast<uint16_t>(lanes[4 * column + from]->b[k / 8] >> shift));
      }
    }
  });
#endif
}

/// Four matrices of 8 x 8 16-bit numbers from shared memory (PTX: ldmatrix.x4). Lane l names row
/// l % 8 of matrix l / 8, 16 bytes at a multiple of 16. It gets of matrix i in to[i] the row l / 4,
/// columns 2 (l % 4) and the next one; with `transposed`, column l / 4 and those two rows.
template <bool transposed>
NINE_D void load_matrices(uint32_t (&to)[4], const uint16_t* row) {
#ifdef __CUDACC__
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
#else
  nine::require(reinterpret_cast<uintptr_t>(row) % 16 == 0, "[ldmatrix] a row is not aligned");
  std::memcpy(cuda_on_host::lane_slot(cuda_on_host::lane()), &row, sizeof row);
  cuda_on_host::sync_warp(false);
  const unsigned l = cuda_on_host::lane();
  for (unsigned i = 0; i < 4; ++i) {
    const auto number = [&](unsigned r, unsigned c) {
      const uint16_t* at = nullptr;
      std::memcpy(&at, cuda_on_host::lane_slot(8 * i + r), sizeof at);
      return static_cast<uint32_t>(at[c]);
    };
    const unsigned one = l / 4, two = 2 * (l % 4);
    to[i] = transposed ? number(two, one) | number(two + 1, one) << 16
                       : number(one, two) | number(one, two + 1) << 16;
  }
  cuda_on_host::sync_warp(false);
#endif
}

// The arithmetics. Each has the type in which factors lie in shared memory, and
//   multiply<tiles, transposed>(c, a, lda, b, ldb, k):
// c[n] += the 16 x k matrix at a times columns 8 n to 8 n + 7 of a matrix B of k rows. B lies at b
// row by row or, if `transposed`, column by column: B(i, j) = b[j * ldb + i]. k is a multiple of
// kStep, tiles an even number; a, b and the rows of both are aligned to 16 bytes. All lanes call
// it.

/// Multiply-adds of T, in order of k.
template <class T>
struct PlainMma {
  using Number = T;  ///< of the results
  using Store = T;   ///< of the factors
  static constexpr int kStep = 4;
  static NINE_D T stored(T x) { return x; }

  struct alignas(16) Four {
    T x[4];
  };
  struct alignas(2 * sizeof(T)) Two {
    T x[2];
  };

  template <int tiles, bool transposed>
  static NINE_D void multiply(T (&c)[tiles][4], const T* a, int lda, const T* b, int ldb, int k) {
    const int lane = static_cast<int>(threadIdx.x), group = lane / 4, pair = 2 * (lane % 4);
    a += group * lda;
    b += transposed ? pair * ldb : pair;
    for (int i = 0; i < k; i += kStep) {
      const Four upper = *reinterpret_cast<const Four*>(a + i),
                 lower = *reinterpret_cast<const Four*>(a + 8 * lda + i);
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        if constexpr (transposed) {
          const T* columns = b + 8 * n * ldb + i;
          const Four left = *reinterpret_cast<const Four*>(columns),
                     right = *reinterpret_cast<const Four*>(columns + ldb);
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            c[n][0] += upper.x[j] * left.x[j];
            c[n][1] += upper.x[j] * right.x[j];
            c[n][2] += lower.x[j] * left.x[j];
            c[n][3] += lower.x[j] * right.x[j];
          }
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const Two row = *reinterpret_cast<const Two*>(b + (i + j) * ldb + 8 * n);
            c[n][0] += upper.x[j] * row.x[0];
            c[n][1] += upper.x[j] * row.x[1];
            c[n][2] += lower.x[j] * row.x[0];
            c[n][3] += lower.x[j] * row.x[1];
          }
        }
      }
    }
  }
};

/// Factors rounded to TF32, float32 sums, on tensor cores.
struct Tf32Mma {
  using Number = float;
  using Store = float;
  static constexpr int kStep = 8;
  static NINE_D float stored(float x) { return tf32_of(x); }
  static NINE_D uint32_t bits(float x) {
    uint32_t u = 0;
    memcpy(&u, &x, sizeof u);
    return u;
  }

  // Where B lies row by row, the k of a step are numbered 0, 2, 4, 6, 1, 3, 5, 7, in both factors:
  // with rows of 4 (mod 32) numbers in B and 8 in A the lanes then read 32 different banks.
  template <int tiles, bool transposed>
  static NINE_D void multiply(float (&c)[tiles][4], const float* a, int lda, const float* b,
                              int ldb, int k) {
    const int lane = static_cast<int>(threadIdx.x), group = lane / 4, member = lane % 4;
    const int first = transposed ? member : 2 * member, second = first + (transposed ? 4 : 1);
    a += group * lda;
    b += transposed ? group * ldb : group;
    for (int i = 0; i < k; i += kStep) {
      Fragments f;
      f.a[0] = bits(a[i + first]);
      f.a[1] = bits(a[8 * lda + i + first]);
      f.a[2] = bits(a[i + second]);
      f.a[3] = bits(a[8 * lda + i + second]);
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        f.b[0] = bits(transposed ? b[8 * n * ldb + i + first] : b[(i + first) * ldb + 8 * n]);
        f.b[1] = bits(transposed ? b[8 * n * ldb + i + second] : b[(i + second) * ldb + 8 * n]);
        mma_tf32(c[n], f);
      }
    }
  }
};

/// Factors rounded to bfloat16, float32 sums, on tensor cores.
struct Bf16Mma {
  using Number = float;
  using Store = uint16_t;
  static constexpr int kStep = 16;
  static NINE_D uint16_t stored(float x) { return bf16_bits(x); }

  template <int tiles, bool transposed>
  static NINE_D void multiply(float (&c)[tiles][4], const uint16_t* a, int lda, const uint16_t* b,
                              int ldb, int k) {
    static_assert(tiles % 2 == 0);
    const int lane = static_cast<int>(threadIdx.x);
    a += lane % 16 * lda + lane / 16 * 8;
    b += transposed ? (lane / 16 * 8 + lane % 8) * ldb + lane / 8 % 2 * 8
                    : lane % 16 * ldb + lane / 16 * 8;
    for (int i = 0; i < k; i += kStep) {
      Fragments f;
      load_matrices<false>(f.a, a + i);
#pragma unroll
      for (int n = 0; n < tiles; n += 2) {
        uint32_t both[4];
        if constexpr (transposed)
          load_matrices<false>(both, b + 8 * n * ldb + i);
        else
          load_matrices<true>(both, b + i * ldb + 8 * n);
        f.b[0] = both[0];
        f.b[1] = both[1];
        mma_bf16(c[n], f);
        f.b[0] = both[2];
        f.b[1] = both[3];
        mma_bf16(c[n + 1], f);
      }
    }
  }
};

}  // namespace nine::cuda
