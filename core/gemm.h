// Matrix products on the CPU. All of them go through this file. It uses libxsmm, a just-in-time
// compiler for small products, if the build found it, and Eigen otherwise; or bfloat16 tiles, where
// the instruction set in use has them (core/bf16_product.h). All are only given tiles to multiply
// on one thread. The tiles follow from the shapes alone, so that results do not depend on the
// number of threads, and a row's bits not on the rows that share its product
// (tests/core/test_gemm.cpp, tests/core/test_row_bits.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

enum class GemmBackend : uint8_t { eigen, libxsmm };
/// The backend in use: libxsmm if this build has it, unless the environment has NINE_GEMM=eigen.
GemmBackend gemm_backend();
/// "eigen" or "libxsmm".
std::string to_text(GemmBackend b);
/// Whether this build has that backend.
bool gemm_backend_built(GemmBackend b);
/// The backend with its version and, for libxsmm, the CPU type it compiles for: "eigen 3.4.0",
/// "libxsmm 1.17 (skx)" under avx512, and bf16::loops_asked_for(). Results depend on it.
std::string gemm_description();
/// Changes the backend for products built from now on. Error: this build does not have it.
void set_gemm_backend(GemmBackend b);

/// C = A B or (`add`) C += A B on one tile and one thread. As in BLAS, matrices are column-major: A
/// (m, k), B (k, n), C (m, n) with leading dimensions lda, ldb, ldc, the elements from one column
/// to the next. With transpose_b, B is stored as its transpose (n, k), which costs nothing. A
/// row-major matrix is given as its transpose, whose memory is the same. The constructor looks up
/// the compiled code (some 50 ns with libxsmm), so it belongs outside of the innermost loop.
/// An element's bits depend on its row, its column and k alone, not on m and n.
template <class T>
class TileProduct {
 public:
  TileProduct(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add,
              bool transpose_b = false);
  void operator()(const T* a, const T* b, T* c) const { run_(*this, a, b, c); }

 private:
  friend struct TileBackends;
  void (*run_)(const TileProduct&, const T*, const T*, T*);
  void *jitted_ = nullptr, *jitted_last_ = nullptr;
  int64_t m_, n_, k_, lda_, ldb_, ldc_;
  bool add_, transpose_b_;
};

/// How many rows of its first factor TileProduct should be given, if these are worth packing as
/// [k][rows] for it; 0 where they are as fast in place. For libxsmm's code for AVX2: 128 bytes, the
/// four registers that it takes of each k at once (docs/performance-explained.md).
template <class T>
int64_t tile_panel();

/// C = alpha * op(A) op(B) or (`add`) C += alpha * op(A) op(B), row-major, on all threads: C (m,
/// n), op(A) (m, k), op(B) (k, n), where op(A) is the stored matrix or, with transpose_a, its
/// transpose, and op(B) likewise. lda, ldb and ldc are the elements from one row to the next.
template <class T>
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
};
template <class T>
void gemm(const Gemm<T>& p);

/// y[c * ldy + r] = alpha * x[r * ldx + c]: the transpose of a (rows, cols) tile that fits in
/// cache.
template <class T>
void transpose_tile(const T* x, int64_t ldx, int64_t rows, int64_t cols, T* y, int64_t ldy,
                    T alpha = 1);

}  // namespace nine
