// Optimiser updates on a GPU (part of cuda/ops.cuh): one pass over all parameters. The kernels read
// the squared norm of the gradient, for clipping, from the device's memory.
#include "core/update_rules.h"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

template <class T>
struct PutClipFactor {
  const double* norm_squared;
  double max_norm;
  T* factor;
  NINE_D void operator()(int64_t, int64_t) const {
    *factor = static_cast<T>(ops::clip_factor(*norm_squared, max_norm));
  }
};
/// What gradients are multiplied by, in the device's memory: a square root and a division in double
/// for all weights together. Null: no clipping.
template <class T>
const T* clip_factor_of(CudaDevice& device, const char* op, const ops::Clip& clip) {
  if (clip.max_norm == 0) return nullptr;
  T* factor = device.scratch<T>(1);
  each(device, op, {1, 1},
       PutClipFactor<T>{static_cast<double*>(clip.norm_squared.data), clip.max_norm, factor});
  return factor;
}
template <class T>
NINE_D T clipped(const T* factor, T gradient) {
  return factor != nullptr ? *factor * gradient : gradient;
}

// All numbers of a weight are loaded before one is stored: behind a store the compiler would have
// to load them again.
template <class T>
struct Adam {
  Matrix<T> w, g, m, v;
  const T* factor;
  ops::AdamRule<T> rule;
  NINE_D void operator()(int64_t r, int64_t c) const {
    T weight = w.at(r, c), first = m.at(r, c), second = v.at(r, c);
    rule(clipped(factor, g.at(r, c)), weight, first, second);
    w.at(r, c) = weight;
    m.at(r, c) = first;
    v.at(r, c) = second;
  }
};
template <class T>
struct AdamRows {
  Adam<T> adam;
  const int32_t* ids;
  IndexErrors errors;
  NINE_D void operator()(int64_t i, int64_t c) const {
    const int32_t r = ids[i];
    if (checked(ids, i, 0, adam.w.rows, errors) == r) adam(r, c);
  }
};
template <class T>
struct Sgd {
  Matrix<T> w, g, u;
  const T* factor;
  ops::SgdRule<T> rule;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T gradient = clipped(factor, g.at(r, c));
    T weight = w.at(r, c);
    if (u.data == nullptr) {
      rule(gradient, weight);
    } else {
      T velocity = u.at(r, c);
      rule(gradient, weight, velocity);
      u.at(r, c) = velocity;
    }
    w.at(r, c) = weight;
  }
};
template <class T>
struct Average {
  Matrix<T> mean, w;
  T weight;
  NINE_D void operator()(int64_t r, int64_t c) const {
    mean.at(r, c) += weight * (w.at(r, c) - mean.at(r, c));
  }
};

}  // namespace

void adam(const View& w, const View& g, const View& m, const View& v, const ops::Clip& clip,
          const ops::AdamStep& s) {
  dispatch_float(w.dtype, "adam", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    each(device, "adam", plane_of({&w, &g, &m, &v}),
         Adam<T>{Matrix<T>(w), Matrix<T>(g), Matrix<T>(m), Matrix<T>(v),
                 clip_factor_of<T>(device, "adam", clip), ops::AdamRule<T>(s)});
  });
}

void adam_rows(const View& w, const View& g, const View& m, const View& v, const View& ids,
               const ops::Clip& clip, const ops::AdamStep& s) {
  dispatch_float(w.dtype, "adam_rows", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    each(device, "adam_rows", {ids.elements(), w.cols()},
         AdamRows<T>{{Matrix<T>(w), Matrix<T>(g), Matrix<T>(m), Matrix<T>(v),
                      clip_factor_of<T>(device, "adam_rows", clip), ops::AdamRule<T>(s)},
                     static_cast<int32_t*>(ids.data),
                     device.index_errors("adam_rows")});
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip,
         const ops::SgdStep& s) {
  dispatch_float(w.dtype, "sgd", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    each(device, "sgd", plane_of({&w, &g, &u}),
         Sgd<T>{Matrix<T>(w), Matrix<T>(g), u ? Matrix<T>(u) : Matrix<T>(),
                clip_factor_of<T>(device, "sgd", clip), ops::SgdRule<T>(s)});
  });
}

void average(const View& mean, const View& w, double weight) {
  dispatch_float(w.dtype, "average", [&]<class T>(T) {
    each(CudaDevice::of(w), "average", plane_of({&mean, &w}),
         Average<T>{Matrix<T>(mean), Matrix<T>(w), static_cast<T>(weight)});
  });
}

}  // namespace nine::cuda
