#include "core/row_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/elementwise_loops.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

constexpr int64_t kLanes = 16;
template <class T>
constexpr int64_t kLine = 64 / sizeof(T);  // numbers of a cache line

template <class T>
T largest(const T* x, int64_t n) {
  T top[kLanes];
  std::fill_n(top, kLanes, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
  for (; i < n; ++i) top[0] = x[i] > top[0] ? x[i] : top[0];
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) top[j] = top[j + width] > top[j] ? top[j + width] : top[j];
  return top[0];
}

template <class T, bool keep>
double exponents(T* x, int64_t n, T top) {
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) {
      const T e = vexp(x[i + j] - top);
      sums[j] += e;
      if constexpr (keep) x[i + j] = e;
    }
  for (; i < n; ++i) {
    const T e = vexp(x[i] - top);
    sums[0] += e;
    if constexpr (keep) x[i] = e;
  }
  double sum = 0;
  for (const T s : sums) sum += static_cast<double>(s);
  return sum;
}

template <class T>
double exponents(T* x, int64_t n, T top, bool keep) {
  return keep ? exponents<T, true>(x, n, top) : exponents<T, false>(x, n, top);
}

template <class T>
void tanh(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = vtanh(x[i]);
}

template <class T>
void scaled(T factor, const T* __restrict x, int64_t n, bool add, T* __restrict y) {
  with_add(add, [&](auto put) {
    for (int64_t i = 0; i < n; ++i) put(y[i], factor * x[i]);
  });
}

template <class T>
void add_bias(T* __restrict x, const T* __restrict bias, int64_t n, T low) {
  for (int64_t i = 0; i < n; ++i) {
    const T value = x[i] + (bias != nullptr ? bias[i] : T(0));
    x[i] = value < low ? low : value;
  }
}

template <class T>
void layer_norm(const T* x, const T* gamma, const T* beta, int64_t n, double eps, T* y) {
  const double count = static_cast<double>(n),
               m = lane_sum(n, [&](int64_t i) { return static_cast<double>(x[i]); }) / count;
  const double squares = lane_sum(n, [&](int64_t i) {
    return (static_cast<double>(x[i]) - m) * (static_cast<double>(x[i]) - m);
  });
  const T mean = static_cast<T>(m), rstd = static_cast<T>(1 / std::sqrt(squares / count + eps));
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

template <class T>
T dot(const T* __restrict a, const T* __restrict b, int64_t n) {
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) sums[j] += a[i + j] * b[i + j];
  for (int64_t j = 0; i < n; ++i, ++j) sums[j] += a[i] * b[i];
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  return sums[0];
}

template <class T>
void softmax(T* s, int64_t n) {
  const T top = *std::max_element(s, s + n);
  for (int64_t i = 0; i < n; ++i) s[i] = vexp(s[i] - top);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += s[i];
  const T factor = T(1) / sum;
  for (int64_t i = 0; i < n; ++i) s[i] *= factor;
}

template <class T>
void attend(const RowAttention<T>& a) {
  const int64_t size = a.size, heads = a.heads, n = a.n, d = heads * size,
                group = heads / a.kv_heads, width = a.kv_heads * size;
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(size)));
  T* scores = scratch<T>(Scratch::tile, heads * n);  // [head][key]
  for (int64_t i = 0; i < n; ++i) {
    // Prefetches the next key, because keys lie apart and the CPU cannot predict their addresses.
    for (int64_t c = 0; c < width && i + 1 < n; c += kLine<T>) {
      __builtin_prefetch(a.keys[i + 1] + c);
      __builtin_prefetch(a.keys[i + 1] + a.to_value + c);
    }
    for (int64_t h = 0; h < heads; ++h)
      scores[h * n + i] = scale * dot(a.q + h * size, a.keys[i] + h / group * size, size);
  }
  for (int64_t h = 0; h < heads; ++h) softmax(scores + h * n, n);
  T* __restrict y = a.y;
  std::fill_n(y, d, T(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < heads; ++h) {
      const T weight = scores[h * n + i];
      const T* __restrict v = a.keys[i] + a.to_value + h / group * size;
      T* __restrict out = y + h * size;
      for (int64_t c = 0; c < size; ++c) out[c] += weight * v[c];
    }
  }
  for (int64_t i = 0; i < n && a.mean_weights != nullptr; ++i) {
    double sum = 0;
    for (int64_t h = 0; h < heads; ++h) sum += static_cast<double>(scores[h * n + i]);
    a.mean_weights[i] = static_cast<T>(sum / static_cast<double>(heads));
  }
}

template <class T>
RowLoops<T> all_loops() {
  return {.largest = largest<T>,
          .exponents = exponents<T>,
          .tanh = tanh<T>,
          .scaled = scaled<T>,
          .add_bias = add_bias<T>,
          .layer_norm = layer_norm<T>,
          .attend = attend<T>};
}

}  // namespace

void install(RowLoops<float>& loops) { loops = all_loops<float>(); }
void install(RowLoops<double>& loops) { loops = all_loops<double>(); }

}  // namespace NINE_ISA
}  // namespace nine::cpu
