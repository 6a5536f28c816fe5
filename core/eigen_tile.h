// Eigen's product of one tile, with a fixed order of sums.
#pragma once

#include <cstdint>
#include <string>

namespace nine {

/// Returns Eigen's version, such as "3.4.0".
std::string eigen_version();

/// The product C += A B on this thread, column-major as in TileProduct: A (m, k), B (k, n), C (m,
/// n). lda, ldb and ldc are the elements from one column to the next. With transpose_b, B is stored
/// as (n, k).
///
/// Every element of C is summed in the same order, in stretches of 256 terms. The sum of a stretch
/// begins at 0, takes one FMA after another and is then added to C. So an element's bits do not
/// depend on m, n and its place in C.
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
