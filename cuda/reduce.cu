// Sums on a GPU (part of cuda/ops.cuh).
#include "cuda/reduce.cuh"

#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

struct Identity {
  NINE_D static double of(double x) { return x; }
};
struct Square {
  NINE_D static double of(double x) { return x * x; }
};
struct NonFinite {  // 0 for finite x, NaN otherwise
  NINE_D static double of(double x) { return x - x; }
};

template <class T, class F>
struct Element {
  Matrix<T> x;
  NINE_D double operator()(int64_t i) const {
    return F::of(static_cast<double>(x.ld == x.cols ? x.data[i] : x.at(i / x.cols, i % x.cols)));
  }
};
template <class T>
struct Cell {
  Matrix<T> x;
  NINE_D double operator()(int64_t r, int64_t c) const { return static_cast<double>(x.at(r, c)); }
};

template <class F, class T, class Y>
void total(const char* op, const View& x, Y* y, bool add) {
  sum_of(CudaDevice::of(x), op, x.elements(), Element<T, F>{Matrix<T>(x)}, PutSum<Y>{y, add});
}

}  // namespace

void column_sums(const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "column_sums", [&]<class T>(T) {
    sum_columns(CudaDevice::of(x), "column_sums", x.rows(), x.cols(), Cell<T>{Matrix<T>(x)},
                static_cast<T*>(y.view.data), y.add);
  });
}

void sum(const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "sum", [&]<class T>(T) {
    total<Identity, T>("sum", x, static_cast<T*>(y.view.data), y.add);
  });
}

void sum_squares(const View& x, const View& out) {
  dispatch_float(x.dtype, "sum_squares", [&]<class T>(T) {
    total<Square, T>("sum_squares", x, static_cast<double*>(out.data), false);
  });
}

bool all_finite(const View& x) {
  CudaDevice& device = CudaDevice::of(x);
  double* result = nullptr;
  dispatch_float(x.dtype, "all_finite", [&]<class T>(T) {
    result = device.scratch<double>(1, 1);
    total<NonFinite, T>("all_finite", x, result, false);
  });
  double sum = 0;
  device.download(result, sizeof sum, &sum, sizeof sum, sizeof sum, 1);
  return sum == 0.0;
}

}  // namespace nine::cuda
