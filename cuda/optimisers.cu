// Optimiser updates on a card: one pass over the slabs, the clipping's factor read where it lies.
#include <cmath>

#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

struct ClipFactor {
  const double* norm_squared;  // null: no clipping
  double max_norm;

  explicit ClipFactor(const ops::Clip& c)
      : norm_squared(c.max_norm == 0 ? nullptr : static_cast<double*>(c.norm_squared.data)), max_norm(c.max_norm) {}
  NINE_D double value() const {
    if (norm_squared == nullptr) return 1;
    const double factor = max_norm / (sqrt(*norm_squared) + 1e-6);
    return factor < 1 ? factor : 1;
  }
};

template <class T>
struct Adam {
  Matrix<T> w, g, m, v;
  ClipFactor clip;
  T b1, b2, c1, c2, rate, root, eps, l2, shrink;
  NINE_D void operator()(int64_t r, int64_t c) const {
    T &weight = w.at(r, c), &first = m.at(r, c), &second = v.at(r, c);
    const T x = static_cast<T>(clip.value()) * g.at(r, c) + l2 * weight;
    first = b1 * first + c1 * x;
    second = b2 * second + c2 * (x * x);
    weight = shrink * weight - rate * first / (std::sqrt(second) * root + eps);
  }
};
template <class T>
struct Sgd {
  Matrix<T> w, g, u;
  ClipFactor clip;
  T rate, momentum, l2;
  NINE_D void operator()(int64_t r, int64_t c) const {
    T& weight = w.at(r, c);
    T step = static_cast<T>(clip.value()) * g.at(r, c) + l2 * weight;
    if (u.data != nullptr) step = u.at(r, c) = momentum * u.at(r, c) + step;
    weight -= rate * step;
  }
};
template <class T>
struct Average {
  Matrix<T> mean, w;
  T weight;
  NINE_D void operator()(int64_t r, int64_t c) const { mean.at(r, c) += weight * (w.at(r, c) - mean.at(r, c)); }
};

}  // namespace

void adam(const View& w, const View& g, const View& m, const View& v, const ops::Clip& clip, const ops::AdamStep& s) {
  for_float(w.dtype, "adam", [&]<class T>(T) {
    const auto t = static_cast<double>(s.t);
    const double correction1 = 1 - std::pow(s.beta1, t), correction2 = 1 - std::pow(s.beta2, t);
    each(Card::of(w), "adam", plane_of({&w, &g, &m, &v}),
         Adam<T>{.w = Matrix<T>(w),
                 .g = Matrix<T>(g),
                 .m = Matrix<T>(m),
                 .v = Matrix<T>(v),
                 .clip = ClipFactor(clip),
                 .b1 = static_cast<T>(s.beta1),
                 .b2 = static_cast<T>(s.beta2),
                 .c1 = static_cast<T>(1 - s.beta1),
                 .c2 = static_cast<T>(1 - s.beta2),
                 .rate = static_cast<T>(s.lr / correction1),
                 .root = static_cast<T>(1 / std::sqrt(correction2)),
                 .eps = static_cast<T>(s.eps),
                 .l2 = static_cast<T>(s.decoupled ? 0 : s.weight_decay),
                 .shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1)});
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip, const ops::SgdStep& s) {
  for_float(w.dtype, "sgd", [&]<class T>(T) {
    each(Card::of(w), "sgd", plane_of({&w, &g, &u}),
         Sgd<T>{Matrix<T>(w), Matrix<T>(g), u ? Matrix<T>(u) : Matrix<T>(), ClipFactor(clip), static_cast<T>(s.lr), static_cast<T>(s.momentum),
                static_cast<T>(s.weight_decay)});
  });
}

void average(const View& mean, const View& w, double weight) {
  for_float(w.dtype, "average", [&]<class T>(T) {
    each(Card::of(w), "average", plane_of({&mean, &w}), Average<T>{Matrix<T>(mean), Matrix<T>(w), static_cast<T>(weight)});
  });
}

}  // namespace nine::cuda
