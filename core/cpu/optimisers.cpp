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

// The loops are functions of their own, numbers by value and pointers restrict: inside of the closures that call them the
// compiler has to fear that a store changes a number, and does not vectorise.
template <class T>
struct AdamNumbers {
  T factor, b1, b2, c1, c2, rate, root, eps, l2, shrink;
};
template <class T>
void adam_piece(T* __restrict weight, const T* __restrict grad, T* __restrict first, T* __restrict second, int64_t n, const AdamNumbers<T> k) {
  for (int64_t i = 0; i < n; ++i) {
    const T x = k.factor * grad[i] + k.l2 * weight[i];
    first[i] = k.b1 * first[i] + k.c1 * x;
    second[i] = k.b2 * second[i] + k.c2 * (x * x);
    weight[i] = k.shrink * weight[i] - k.rate * first[i] / (std::sqrt(second[i]) * k.root + k.eps);
  }
}

template <class T>
void sgd_piece(T* __restrict weight, const T* __restrict grad, T* __restrict speed, int64_t n, T factor, T rate, T momentum, T l2) {
  if (speed == nullptr) {
    for (int64_t i = 0; i < n; ++i) weight[i] -= rate * (factor * grad[i] + l2 * weight[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    speed[i] = momentum * speed[i] + (factor * grad[i] + l2 * weight[i]);
    weight[i] -= rate * speed[i];
  }
}

}  // namespace

void adam(const View& w, const View& g, const View& m, const View& v, const ops::Clip& clip, const ops::AdamStep& s) {
  for_float(w.dtype, "adam", [&]<class T>(T) {
    const auto t = static_cast<double>(s.t);
    const double correction1 = 1 - std::pow(s.beta1, t), correction2 = 1 - std::pow(s.beta2, t);
    const AdamNumbers<T> k{.factor = static_cast<T>(clip_factor(clip)),
                           .b1 = static_cast<T>(s.beta1),
                           .b2 = static_cast<T>(s.beta2),
                           .c1 = static_cast<T>(1 - s.beta1),
                           .c2 = static_cast<T>(1 - s.beta2),
                           .rate = static_cast<T>(s.lr / correction1),
                           .root = static_cast<T>(1 / std::sqrt(correction2)),
                           .eps = static_cast<T>(s.eps),
                           .l2 = static_cast<T>(s.decoupled ? 0 : s.weight_decay),
                           .shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1)};
    for_pieces({&w, &g, &m, &v}, [&](int64_t r, int64_t c, int64_t n) {
      adam_piece(row_ptr<T>(w, r) + c, row_ptr<T>(g, r) + c, row_ptr<T>(m, r) + c, row_ptr<T>(v, r) + c, n, k);
    });
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip, const ops::SgdStep& s) {
  for_float(w.dtype, "sgd", [&]<class T>(T) {
    const T factor = static_cast<T>(clip_factor(clip)), rate = static_cast<T>(s.lr), momentum = static_cast<T>(s.momentum);
    const T l2 = static_cast<T>(s.weight_decay);
    const View& velocity = u ? u : w;
    for_pieces({&w, &g, &velocity}, [&](int64_t r, int64_t c, int64_t n) {
      sgd_piece(row_ptr<T>(w, r) + c, row_ptr<T>(g, r) + c, u ? row_ptr<T>(u, r) + c : nullptr, n, factor, rate, momentum, l2);
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
