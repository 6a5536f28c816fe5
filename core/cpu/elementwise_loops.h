// Cuts elementwise work into pieces whose bounds depend on shapes only.
#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "core/threads.h"

namespace nine::cpu {

inline constexpr int64_t kGrain =
    16384;  // elements a task: 64 KB of float, long enough to hide a task's start

template <class T>
T* row_ptr(const View& v, int64_t r) {
  return static_cast<T*>(v.data) + r * v.ld;
}

inline bool all_contiguous(std::initializer_list<const View*> views) {
  return std::all_of(views.begin(), views.end(), [](const View* v) { return v->contiguous(); });
}

/// Runs f(row, first column, count) over pieces of equally shaped matrices: runs of one row, or,
/// when all views are contiguous, runs of the whole as a single row 0.
template <class F>
void for_pieces(std::initializer_list<const View*> views, F&& f) {
  const View& v = **views.begin();
  if (all_contiguous(views)) {
    parallel_ranges(v.elements(), kGrain,
                    [&](int64_t begin, int64_t end) { f(int64_t{0}, begin, end - begin); });
    return;
  }
  const int64_t rows = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, v.cols()));
  parallel_ranges(v.rows(), rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r, int64_t{0}, v.cols());
  });
}

/// Runs f(begin, end) over ranges of rows of v, some kGrain elements each.
template <class F>
void for_rows(const View& v, F&& f) {
  parallel_ranges(v.rows(), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, v.cols())),
                  std::forward<F>(f));
}

/// f(0) + ... + f(n - 1) in double: running sums a SIMD lane, combined in a fixed tree.
template <class F>
double lane_sum(int64_t n, F&& f) {
  constexpr int64_t kSums = 16;
  double lanes[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int64_t j = 0; j < kSums; ++j) lanes[j] += f(i + j);
  for (int64_t j = 0; i < n; ++i, ++j) lanes[j] += f(i);
  for (int64_t width = kSums / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  return lanes[0];
}

/// Writes or adds, chosen once outside of the loop.
template <class F>
void with_add(bool add, F&& f) {
  if (add) {
    f([](auto& y, auto x) { y += x; });
  } else {
    f([](auto& y, auto x) { y = x; });
  }
}

}  // namespace nine::cpu
