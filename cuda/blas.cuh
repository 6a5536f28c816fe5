// The one door to cuBLAS: products of row-major matrices on a card's stream.
#pragma once

#include <string>

#include "cuda/cuda.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// C (m, n) = alpha * op(A) op(B) [+ C], row-major; op(A) (m, k), op(B) (k, n), each the transpose of what is stored where asked.
template <class T>
struct Product {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
  double alpha = 1;
};
/// T is float or double. With k = 0 the product is 0.
template <class T>
void multiply(Card& card, const char* op, const Product<T>& p);

/// What float32 products are computed in, from the next one on.
Precision precision();
/// "cuBLAS 13.1.0", or an Error that says how to get it.
std::string blas_description();

}  // namespace nine::cuda
