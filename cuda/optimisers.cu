// Optimiser updates on a GPU (part of cuda/ops.cuh): one pass over all parameters. The kernels read
// the squared norm of the gradient, for clipping, from the device's memory.
#include "core/update_rules.h"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

struct ClipFactor {
  const double* norm_squared;  // null: no clipping
  double max_norm;

  explicit ClipFactor(const ops::Clip& c)
      : norm_squared(c.max_norm == 0 ? nullptr : static_cast<double*>(c.norm_squared.data)),
        max_norm(c.max_norm) {}
  NINE_D double value() const {
    return norm_squared == nullptr ? 1 : ops::clip_factor(*norm_squared, max_norm);
  }
};

template <class T>
struct Adam {
  Matrix<T> w, g, m, v;
  ClipFactor clip;
  ops::AdamRule<T> rule;
  NINE_D void operator()(int64_t r, int64_t c) const {
    rule(static_cast<T>(clip.value()) * g.at(r, c), w.at(r, c), m.at(r, c), v.at(r, c));
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
  ClipFactor clip;
  ops::SgdRule<T> rule;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T gradient = static_cast<T>(clip.value()) * g.at(r, c);
    if (u.data == nullptr) {
      rule(gradient, w.at(r, c));
    } else {
      rule(gradient, w.at(r, c), u.at(r, c));
    }
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
    each(CudaDevice::of(w), "adam", plane_of({&w, &g, &m, &v}),
         Adam<T>{Matrix<T>(w), Matrix<T>(g), Matrix<T>(m), Matrix<T>(v), ClipFactor(clip),
                 ops::AdamRule<T>(s)});
  });
}

void adam_rows(const View& w, const View& g, const View& m, const View& v, const View& ids,
               const ops::Clip& clip, const ops::AdamStep& s) {
  dispatch_float(w.dtype, "adam_rows", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    each(device, "adam_rows", {ids.elements(), w.cols()},
         AdamRows<T>{{Matrix<T>(w), Matrix<T>(g), Matrix<T>(m), Matrix<T>(v), ClipFactor(clip),
                      ops::AdamRule<T>(s)},
                     static_cast<int32_t*>(ids.data),
                     device.index_errors("adam_rows")});
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip,
         const ops::SgdStep& s) {
  dispatch_float(w.dtype, "sgd", [&]<class T>(T) {
    each(CudaDevice::of(w), "sgd", plane_of({&w, &g, &u}),
         Sgd<T>{Matrix<T>(w), Matrix<T>(g), u ? Matrix<T>(u) : Matrix<T>(), ClipFactor(clip),
                ops::SgdRule<T>(s)});
  });
}

void average(const View& mean, const View& w, double weight) {
  dispatch_float(w.dtype, "average", [&]<class T>(T) {
    each(CudaDevice::of(w), "average", plane_of({&mean, &w}),
         Average<T>{Matrix<T>(mean), Matrix<T>(w), static_cast<T>(weight)});
  });
}

}  // namespace nine::cuda
