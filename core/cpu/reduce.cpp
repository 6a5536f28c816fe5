// Sums on the CPU (part of core/cpu/cpu.h). Their order depends on shapes only.
#include <algorithm>

#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/scratch.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

constexpr int64_t kColumns = 64;   // columns of a task of column_sums
constexpr int64_t kRunRows = 64;   // rows that column_sums adds in T before it adds their sum in
                                   // double
constexpr int64_t kBlock = 32768;  // elements of a partial sum

// Returns the sum of f(element) in double. It adds the partial sums of blocks of elements in order;
// if the view has gaps between rows, of blocks of rows.
template <class T, class F>
double total(const View& x, F f) {
  const bool flat = x.contiguous();
  const int64_t per = flat ? kBlock : x.cols(), n = x.elements();
  const int64_t blocks = per > 0 ? (n + per - 1) / per : 0;
  double* partial = scratch<double>(Scratch::reduction, blocks + 1);
  parallel_for(blocks, [&](int64_t b) {
    const T* p = flat ? static_cast<T*>(x.data) + b * per : row_ptr<T>(x, b);
    partial[b] = lane_sum(std::min(per, n - b * per),
                          [&](int64_t i) { return f(static_cast<double>(p[i])); });
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += partial[b];
  return sum;
}

}  // namespace

void column_sums(const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "column_sums", [&]<class T>(T) {
    T* out = static_cast<T*>(y.view.data);
    parallel_ranges(
        x.cols(), kColumns,
        [&](int64_t c0, int64_t c1) {
          double sums[kColumns] = {};
          for (int64_t r0 = 0; r0 < x.rows(); r0 += kRunRows) {
            T run[kColumns] = {};
            for (int64_t r = r0; r < std::min(x.rows(), r0 + kRunRows); ++r) {
              const T* in = row_ptr<T>(x, r);
              for (int64_t c = c0; c < c1; ++c) run[c - c0] += in[c];
            }
            for (int64_t c = c0; c < c1; ++c) sums[c - c0] += static_cast<double>(run[c - c0]);
          }
          for (int64_t c = c0; c < c1; ++c)
            out[c] = (y.add ? out[c] : T(0)) + static_cast<T>(sums[c - c0]);
        },
        16.0 * static_cast<double>(x.elements()));
  });
}

void sum(const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "sum", [&]<class T>(T) {
    T* out = static_cast<T*>(y.view.data);
    const double s = total<T>(x, [](double v) { return v; });
    *out = (y.add ? *out : T(0)) + static_cast<T>(s);
  });
}

void sum_squares(const View& x, const View& out) {
  dispatch_float(x.dtype, "sum_squares", [&]<class T>(T) {
    *static_cast<double*>(out.data) = total<T>(x, [](double v) { return v * v; });
  });
}

bool all_finite(const View& x) {
  // x - x is 0 for finite x and NaN otherwise, and a sum with a NaN in it is NaN.
  return dispatch_float(x.dtype, "all_finite", [&]<class T>(T) {
    return total<T>(x, [](double v) { return v - v; }) == 0.0;
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
