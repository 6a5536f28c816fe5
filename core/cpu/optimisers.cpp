// Optimiser updates on the CPU: one pass over the slabs, all arithmetic of an element at once.
#include <cmath>

#include "core/cpu/cpu.h"
#include "core/cpu/pieces.h"

namespace nine::cpu {
namespace {

double clip_factor(const ops::Clip& clip) {
  if (clip.max_norm == 0) return 1;
  const double norm = std::sqrt(*static_cast<double*>(clip.norm_squared.data));
  return std::min(1.0, clip.max_norm / (norm + 1e-6));
}

}  // namespace

void adam(const View& w, const View& g, const View& m, const View& v, const ops::Clip& clip, const ops::AdamStep& s) {
  for_float(w.dtype, "adam", [&]<class T>(T) {
    const auto t = static_cast<double>(s.t);
    const double correction1 = 1 - std::pow(s.beta1, t), correction2 = 1 - std::pow(s.beta2, t);
    const T factor = static_cast<T>(clip_factor(clip));
    const T b1 = static_cast<T>(s.beta1), b2 = static_cast<T>(s.beta2), c1 = static_cast<T>(1 - s.beta1), c2 = static_cast<T>(1 - s.beta2);
    const T rate = static_cast<T>(s.lr / correction1), root = static_cast<T>(1 / std::sqrt(correction2)), eps = static_cast<T>(s.eps);
    const T l2 = static_cast<T>(s.decoupled ? 0 : s.weight_decay), shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
    for_pieces({&w, &g, &m, &v}, [&](int64_t r, int64_t c, int64_t n) {
      T *weight = row_ptr<T>(w, r) + c, *first = row_ptr<T>(m, r) + c, *second = row_ptr<T>(v, r) + c;
      const T* grad = row_ptr<T>(g, r) + c;
      for (int64_t i = 0; i < n; ++i) {
        const T x = factor * grad[i] + l2 * weight[i];
        first[i] = b1 * first[i] + c1 * x;
        second[i] = b2 * second[i] + c2 * (x * x);
        weight[i] = shrink * weight[i] - rate * first[i] / (std::sqrt(second[i]) * root + eps);
      }
    });
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip, const ops::SgdStep& s) {
  for_float(w.dtype, "sgd", [&]<class T>(T) {
    const T factor = static_cast<T>(clip_factor(clip)), rate = static_cast<T>(s.lr), momentum = static_cast<T>(s.momentum);
    const T l2 = static_cast<T>(s.weight_decay);
    const View& velocity = u ? u : w;
    for_pieces({&w, &g, &velocity}, [&](int64_t r, int64_t c, int64_t n) {
      T* weight = row_ptr<T>(w, r) + c;
      const T* grad = row_ptr<T>(g, r) + c;
      T* speed = u ? row_ptr<T>(u, r) + c : nullptr;
      for (int64_t i = 0; i < n; ++i) {
        T x = factor * grad[i] + l2 * weight[i];
        if (speed != nullptr) x = speed[i] = momentum * speed[i] + x;
        weight[i] -= rate * x;
      }
    });
  });
}

void average(const View& mean, const View& w, double weight) {
  for_float(w.dtype, "average", [&]<class T>(T) {
    const T a = static_cast<T>(weight);
    for_pieces({&mean, &w}, [&](int64_t r, int64_t c, int64_t n) {
      T* y = row_ptr<T>(mean, r) + c;
      const T* x = row_ptr<T>(w, r) + c;
      for (int64_t i = 0; i < n; ++i) y[i] += a * (x[i] - y[i]);
    });
  });
}

}  // namespace nine::cpu
