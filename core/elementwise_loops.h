// Loops over elements and rows, cut into tasks whose bounds depend on shapes only.
#pragma once

#include <algorithm>

#include "core/isa.h"
#include "core/tensor.h"
#include "core/threads.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Elements of a task: 64 KB of float, enough work to make the start of a task negligible.
inline constexpr int64_t kGrain = 16384;

/// Returns the first element of row r of a matrix. The type is not checked.
template <class T>
T* row_ptr(const View& v, int64_t r) {
  return static_cast<T*>(v.data) + r * v.ld;
}

/// True if no view has gaps between its rows.
inline bool all_contiguous(std::initializer_list<const View*> views) {
  return std::all_of(views.begin(), views.end(), [](const View* v) { return v->contiguous(); });
}

/// Calls f(row, first column, count) for segments of matrices of equal shape. A segment is a row,
/// or, when all views are contiguous, a range of all elements, which then count as one row 0.
template <class F>
void for_row_segments(std::initializer_list<const View*> views, F&& f) {
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

/// Calls f(begin, end) for ranges of rows of v with about kGrain elements each.
template <class F>
void for_rows(const View& v, F&& f) {
  parallel_ranges(v.rows(), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, v.cols())),
                  std::forward<F>(f));
}

/// Calls f(i) for i < count, where each call works on one row of `cols` elements, kGrain elements
/// to a task.
template <class F>
void for_some_rows(int64_t count, int64_t cols, F&& f) {
  parallel_ranges(count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cols)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) f(i);
                  });
}

/// Checks indices before their use, because they come from data. Error: an index is outside of
/// [lowest, limit).
inline void check_indices(const char* op, const View& ids, int64_t lowest, int64_t limit) {
  const int32_t* id = static_cast<int32_t*>(ids.data);
  for (int64_t r = 0; r < ids.elements(); ++r)
    require(id[r] >= lowest && id[r] < limit, "[", op, "] index ", id[r], " at position ", r,
            " is outside of [", lowest, ", ", limit, ")");
}

/// Computes f(0) + ... + f(n - 1) in double: 16 running sums, which compilers keep in SIMD lanes,
/// are added in a fixed tree.
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

/// Calls f(put) where put(y, x) is y += x or y = x: the choice is made outside of the loop.
template <class F>
void with_add(bool add, F&& f) {
  if (add) {
    f([](auto& y, auto x) { y += x; });
  } else {
    f([](auto& y, auto x) { y = x; });
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
