// Matrix products on the CPU. All products go through this file. A backend multiplies tiles, each
// on one thread: libxsmm, a just-in-time compiler for small products, if the build found it, or
// else Eigen; or bfloat16 tiles if the instruction set in use has them (core/bf16_product.h).
// Shapes alone determine the tiles, so that results do not depend on the number of threads. A row's
// bits do not depend on the rows that share its product (tests/core/test_gemm.cpp,
// tests/core/test_row_bits.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

enum class GemmBackend : uint8_t { eigen, libxsmm };
/// Returns the backend in use: libxsmm if this build has it, unless the environment has
/// NINE_GEMM=eigen.
GemmBackend gemm_backend();
/// Returns "eigen" or "libxsmm".
std::string to_text(GemmBackend b);
/// True if this build has the backend.
bool gemm_backend_built(GemmBackend b);
/// Returns the backend with its version, libxsmm's CPU type and bf16::loops_asked_for(): "eigen
/// 3.4.0", "libxsmm 1.17 (skx)" under avx512. Results depend on all three.
std::string gemm_description();
/// Changes the backend for products built from now on. Error: this build does not have it.
void set_gemm_backend(GemmBackend b);

/// Computes C = A B or, with `add`, C += A B on one tile and one thread. As in BLAS, matrices are
/// column-major: A (m, k), B (k, n), C (m, n). The leading dimensions lda, ldb, ldc are the
/// elements from one column to the next. With transpose_b, B is stored as its transpose (n, k), at
/// no extra cost. Pass a row-major matrix as its transpose, whose memory is the same. The
/// constructor looks up the compiled code (some 50 ns with libxsmm), so construct it outside of the
/// innermost loop. An element's bits depend on its row, its column and k, not on m and n.
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

/// Returns the rows of its first factor that TileProduct should be given, packed as [k][rows]; 0 if
/// rows in place are as fast. For libxsmm's code for AVX2: 128 bytes, the four registers that it
/// reads for each k (docs/performance-explained.md).
template <class T>
int64_t tile_panel();

/// The product C = alpha * op(A) op(B) or, with `add`, C += alpha * op(A) op(B), row-major: C (m,
/// n), op(A) (m, k), op(B) (k, n). op(A) is the stored matrix or, with transpose_a, its transpose;
/// op(B) likewise. lda, ldb and ldc are the elements from one row to the next. gemm() computes it
/// on all threads.
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

/// Computes y[c * ldy + r] = alpha * x[r * ldx + c]: the transpose of a (rows, cols) tile that fits
/// in cache.
template <class T>
void transpose_tile(const T* x, int64_t ldx, int64_t rows, int64_t cols, T* y, int64_t ldy,
                    T alpha = 1);

}  // namespace nine
