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
template <class T, class Rule, int kStates>
struct Update {
  const T* factor;
  Rule rule;
  Matrix<T> w, g, states[kStates + 1];  // the last one is empty
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T gradient = clipped(factor, g.at(r, c));
    T weight = w.at(r, c), state[kStates + 1];
    for (int k = 0; k < kStates; ++k) state[k] = states[k].at(r, c);
    if constexpr (kStates == 0) rule(gradient, weight);
    if constexpr (kStates == 1) rule(gradient, weight, state[0]);
    if constexpr (kStates == 2) rule(gradient, weight, state[0], state[1]);
    w.at(r, c) = weight;
    for (int k = 0; k < kStates; ++k) states[k].at(r, c) = state[k];
  }
};
template <class Update>
struct UpdateRows {
  Update update;
  const int32_t* ids;
  IndexErrors errors;
  NINE_D void operator()(int64_t i, int64_t c) const {
    const int32_t r = ids[i];
    if (checked(ids, i, 0, update.w.rows, errors) == r) update(r, c);
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

void update(const View& w, const View& g, std::initializer_list<View> states, const View* ids,
            const ops::Clip& clip, const ops::UpdateStep& step) {
  dispatch_float(w.dtype, "update", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    const T* factor = clip_factor_of<T>(device, "update", clip);
    ops::with_rule<T>(step, states, [&]<class Rule>(const Rule& rule, const auto&... state) {
      using Weights = Update<T, Rule, sizeof...(state)>;
      const Weights weights{factor, rule, Matrix<T>(w), Matrix<T>(g), {Matrix<T>(state)...}};
      if (ids == nullptr) return each(device, "update", plane_of({&w, &g, &state...}), weights);
      each(device, "update", {ids->elements(), w.cols()},
           UpdateRows<Weights>{weights, static_cast<int32_t*>(ids->data),
                               device.index_errors("update")});
    });
  });
}

void average(const View& mean, const View& w, double weight) {
  dispatch_float(w.dtype, "average", [&]<class T>(T) {
    each(CudaDevice::of(w), "average", plane_of({&mean, &w}),
         Average<T>{Matrix<T>(mean), Matrix<T>(w), static_cast<T>(weight)});
  });
}

}  // namespace nine::cuda
