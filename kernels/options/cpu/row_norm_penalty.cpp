// The penalty sum_r (|x_r| - norm)^2 over the rows of a matrix, and its gradient, on the CPU.
#include <cmath>

#include "core/elementwise_loops.h"
#include "kernels/cpu/ops.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

template <class T>
double row_norm(const T* x, int64_t d) {
  constexpr int kParts = 8;
  double part[kParts] = {}, square = 0;
  int64_t k = 0;
  for (; k + kParts <= d; k += kParts)
    for (int j = 0; j < kParts; ++j)
      part[j] += static_cast<double>(x[k + j]) * static_cast<double>(x[k + j]);
  for (; k < d; ++k) square += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  for (const double p : part) square += p;
  return std::sqrt(square);
}

constexpr int64_t kRows = 64;  // rows of a task; each task has one partial sum

}  // namespace

void row_norm_penalty(const View& x, double norm, const OutputView& out) {
  double total = 0;
  dispatch_float(x.dtype, "row_norm_penalty", [&]<class T>(T) {
    constexpr int64_t kPartials = 256;
    const int64_t blocks = (x.rows() + kRows - 1) / kRows,
                  grain = (blocks + kPartials - 1) / kPartials * kRows;
    double partial[kPartials] = {};
    parallel_ranges(x.rows(), grain, [&](int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t r = begin; r < end; ++r) {
        const double difference = row_norm(row_ptr<T>(x, r), x.cols()) - norm;
        sum += difference * difference;
      }
      partial[begin / grain] = sum;
    });
    for (const double p : partial) total += p;
  });
  auto* y = static_cast<double*>(out.view.data);
  *y = (out.add ? *y : 0.0) + total;
}

void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx) {
  const double weight = 2 * factor * *static_cast<double*>(grad_output.data);
  dispatch_float(x.dtype, "row_norm_penalty_backward", [&]<class T>(T) {
    with_add(dx.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* from = row_ptr<T>(x, r);
          T* to = row_ptr<T>(dx.view, r);
          const double size = row_norm(from, x.cols());
          const T g = static_cast<T>(size > 0 ? weight * (size - norm) / size : 0);
          for (int64_t k = 0; k < x.cols(); ++k) put(to[k], g * from[k]);
        }
      });
    });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
