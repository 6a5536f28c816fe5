// The one door to matrix products. Behind it: Eigen always, libxsmm (a just-in-time compiler of
// small in-cache products) when the build found it. Every product here is single-threaded on a tile
// of ours or cut into tiles by its shape alone, so that results do not depend on the number of
// threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

enum class GemmBackend : uint8_t { eigen, libxsmm };
/// The backend in use: libxsmm when built in, unless NINE_GEMM=eigen is set in the environment.
GemmBackend gemm_backend();
std::string to_text(GemmBackend b);
bool gemm_backend_built(GemmBackend b);
/// The backend and what it runs on: "eigen 3.4.0", "libxsmm 1.17 (clx)". Results depend on it.
std::string gemm_description();
/// Error when that backend was not built in.
void set_gemm_backend(GemmBackend b);

/// C = A B or C += A B on one tile, single-threaded, in BLAS's column-major terms: A (m, k), B (k,
/// n), C (m, n) with leading dimensions lda, ldb, ldc (elements between columns); with transpose_b
/// B is stored as its transpose (n, k), which costs nothing. A row-major matrix is its transpose
/// here. Building one costs a look-up (some 50 ns with libxsmm), so build it outside of the
/// innermost loops.
template <class T>
class TileProduct {
 public:
  TileProduct(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add,
              bool transpose_b = false);
  void operator()(const T* a, const T* b, T* c) const { run_(*this, a, b, c); }

 private:
  friend struct TileBackends;
  void (*run_)(const TileProduct&, const T*, const T*, T*);
  void* jitted_ = nullptr;
  int64_t m_, n_, k_, lda_, ldb_, ldc_;
  bool add_, transpose_b_;
};

/// C (m, n) = [C +] alpha * op(A) op(B), row-major, over all threads; op(A) (m, k), op(B) (k, n),
/// each the transpose of what is stored where asked.
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

/// y[c * ldy + r] = alpha * x[r * ldx + c]: the transpose of a (rows, cols) tile, in cache.
template <class T>
void transpose_tile(const T* x, int64_t ldx, int64_t rows, int64_t cols, T* y, int64_t ldy,
                    T alpha = 1);

}  // namespace nine
