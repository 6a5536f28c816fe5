// Dropout on a GPU (part of cuda/ops.cuh). The mask is a function of the key and the element, the
// same as on the CPU (core/random.h).
#include "cuda/dropout_mask.cuh"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

template <class T>
struct Drop {
  Matrix<T> x, y;
  DropoutMask<T> mask;
  int64_t mask_rows;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, y.at(r, c), mask.of(r % mask_rows * x.cols + c) * x.at(r, c));
  }
};
template <class T>
struct DropFlat {  // contiguous tensors, as one row, with a mask for each element
  Matrix<T> x, y;
  DropoutMask<T> mask;
  bool add;
  NINE_D void operator()(int64_t, int64_t i) const { put(add, y.data[i], mask.of(i) * x.data[i]); }
};
template <class T>
struct BiasDropoutAdd {
  Matrix<T> x, bias, residual, y;
  DropoutMask<T> mask;
  NINE_D void operator()(int64_t r, int64_t c) const {
    y.at(r, c) = residual.at(r, c) + mask.of(r * x.cols + c) * (x.at(r, c) + bias.data[c]);
  }
};
template <class T>
struct DropWords {
  Matrix<T> x, y;
  const int32_t* ids;
  DropoutMask<T> mask;
  bool add;
  IndexErrors errors;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const int32_t id = checked(ids, r, 0, int64_t{1} << 31, errors);
    put(add, y.at(r, c), mask.of(id) * x.at(r, c));
  }
};

}  // namespace

void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows) {
  dispatch_float(x.dtype, "dropout", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(x);
    const DropoutMask<T> mask(key, p);
    const Matrix<T> in(x), out(y.view);
    if (mask_rows >= x.rows() && x.contiguous() && y.view.contiguous())
      return each(device, "dropout", {1, x.elements()}, DropFlat<T>{in, out, mask, y.add});
    each(device, "dropout", {x.rows(), x.cols()}, Drop<T>{in, out, mask, mask_rows, y.add});
  });
}

void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y) {
  dispatch_float(x.dtype, "bias_dropout_add", [&]<class T>(T) {
    each(CudaDevice::of(x), "bias_dropout_add", {x.rows(), x.cols()},
         BiasDropoutAdd<T>{Matrix<T>(x), Matrix<T>(bias), Matrix<T>(residual), Matrix<T>(y),
                           DropoutMask<T>(key, p)});
  });
}

void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y) {
  dispatch_float(x.dtype, "dropout_words", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(x);
    each(device, "dropout_words", {x.rows(), x.cols()},
         DropWords<T>{Matrix<T>(x), Matrix<T>(y.view), static_cast<int32_t*>(ids.data),
                      DropoutMask<T>(key, p), y.add, device.index_errors("dropout_words")});
  });
}

}  // namespace nine::cuda
