// Eigen's product of one tile, with sums in one order.
#pragma once

#include <cstdint>
#include <string>

namespace nine {

/// As "3.4.0".
std::string eigen_version();

/// C += A B on this thread, column-major as TileProduct: A (m, k), B (k, n), C (m, n), with the
/// elements from one column to the next in lda, ldb, ldc; with transpose_b, B is stored as (n, k).
///
/// Every element of C is summed alike: in stretches of 256 terms, of which each sum begins at 0,
/// takes one FMA after another and is then added to C. So it has the same bits whatever m and n
/// are, and wherever in C it is.
template <class T>
struct EigenTile {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
  bool transpose_b = false;
};
template <class T>
void eigen_multiply_add(const EigenTile<T>& p);

}  // namespace nine
