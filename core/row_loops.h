// Loops over single rows of numbers for decoding, which works on few rows at a time: calling an op
// would take longer than its work (kernels/decoding/head_decoder.cpp,
// core/packed_linear.cpp, core/cpu/attention.cpp).
#pragma once

#include <cstdint>

#include "core/isa.h"

namespace nine::cpu {

/// One row's attention to n keys: y = sum_i a_i v_i for each head, a = softmax(q k_i / sqrt(size)).
template <class T>
struct RowAttention {
  const T* q = nullptr;  ///< (heads * size)
  /// n pointers to (kv_heads * size) numbers of a key, with those of its value `to_value` later. As
  /// many heads of the query as heads / kv_heads read one head of the keys.
  const T* const* keys = nullptr;
  int64_t to_value = 0;
  int64_t heads = 0, kv_heads = 0, size = 0, n = 0;
  T* y = nullptr;             ///< (heads * size)
  T* mean_weights = nullptr;  ///< (n), or null: the mean of all heads' a
};

/// The loops, compiled for one instruction set. Rows are contiguous; n may be 0.
template <class T>
struct RowLoops {
  /// Returns the largest of n numbers; -infinity if n = 0.
  T (*largest)(const T* x, int64_t n);
  /// Returns the sum of exp(x_i - top). With `keep` it overwrites x with exp(x - top).
  double (*exponents)(T* x, int64_t n, T top, bool keep);
  /// Computes x = tanh x.
  void (*tanh)(T* x, int64_t n);
  /// Computes y = factor * x or, with `add`, y += factor * x.
  void (*scaled)(T factor, const T* x, int64_t n, bool add, T* y);
  /// Computes x = max(low, x + bias), where bias may be null; NaN stays NaN.
  void (*add_bias)(T* x, const T* bias, int64_t n, T low);
  /// Computes y = (x - mean) / sqrt(variance + eps) * gamma + beta; y may be x.
  void (*layer_norm)(const T* x, const T* gamma, const T* beta, int64_t n, double eps, T* y);
  /// Computes the attention of one row. Uses Scratch::tile.
  void (*attend)(const RowAttention<T>& a);
};

/// Returns the loops of the instruction set in use.
template <class T>
const RowLoops<T>& row_loops();

}  // namespace nine::cpu

namespace nine::cpu {
inline namespace NINE_ISA {

void install(RowLoops<float>& loops);
void install(RowLoops<double>& loops);

}  // namespace NINE_ISA
}  // namespace nine::cpu
