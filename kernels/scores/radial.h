// The common base of the kernels of a distance: q = |w|^2 + |h|^2 - 2z, clamped at 0, with the
// squared norm as the only statistic.
#pragma once

#include <cmath>

#include "core/log_sum_exp.h"
#include "core/random.h"  // NINE_HD
#include "kernels/scores/score.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// Kernel K provides phi(q) and its derivative phi_slope(q), over float or double; if it takes an
/// exponential (TakesMath), both have a first template parameter Math. A pair with q = 0, also
/// after clamping, has no gradient, for any phi'(0).
template <class K>
struct Radial : SquaredNorm {
  static constexpr bool kExactTarget = true;

  template <class Math = SeriesMath, class T>
  NINE_HD T value(T z, const T* w, const T* h) const {
    const T q = distance(z, w, h);
    if constexpr (TakesMath<K>) {
      return self().template phi<Math>(q);
    } else {
      return self().phi(q);
    }
  }
  template <class Math = SeriesMath, class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T* w, const T* h) const {
    const T q = distance(z, w, h), positive = q > T(0) ? q : T(1);
    T slope = 0;
    if constexpr (TakesMath<K>) {
      slope = self().template phi_slope<Math>(positive);
    } else {
      slope = self().phi_slope(positive);
    }
    slope *= q > T(0) ? T(1) : T(0);  // factors, not branches: see vexp
    return {T(-2) * slope, {slope}, {slope}};
  }

  /// Returns phi'(q) sqrt(q). A kernel whose phi'(q) can overflow (log, pow) defines its own
  /// version.
  NINE_HD double phi_slope_root(double q) const { return self().phi_slope(q) * std::sqrt(q); }

  /// For a K with phi_parameter_slope(i, q) = d phi / d(parameter i), q > 0, whose limit at q = 0
  /// is 0.
  template <class T>
  requires requires(const K& k, T q) { k.phi_parameter_slope(0, q); }
  NINE_HD T parameter_slope(int i, T z, const T* w, const T* h) const {
    const T q = distance(z, w, h);
    return self().phi_parameter_slope(i, q > T(0) ? q : T(1)) * (q > T(0) ? T(1) : T(0));
  }
  template <class T>
  requires requires(const K& k) { k.phi_parameter_slope(0, 1.0); }
  NINE_HD double exact_parameter_slope(int i, const T* w, const T* h, int64_t d) const {
    const double q = square_distance(w, h, d);
    return q > 0 ? self().phi_parameter_slope(i, q) : 0;
  }

  template <class T>
  NINE_HD double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const {
    const double q = square_distance(w, h, d), root = std::sqrt(q);
    const double slope = q > 0 ? 2 * up * self().phi_slope_root(q) : 0, over = q > 0 ? 1 / root : 0;
    if (dw != nullptr || dh != nullptr)
      Visit<T>::each(d, [&](int64_t k) {
        const T g = static_cast<T>(
            slope * ((static_cast<double>(w[k]) - static_cast<double>(h[k])) * over));
        if (dw != nullptr) dw[k] += g;
        if (dh != nullptr) dh[k] -= g;
      });
    return self().phi(q);
  }

 private:
  template <class T>
  NINE_HD static T distance(T z, const T* w, const T* h) {
    const T q = w[0] + h[0] - T(2) * z;
    return q < T(0) ? T(0) : q;  // keeps NaN: a product that has overflowed is not a distance
  }
  NINE_HD const K& self() const { return static_cast<const K&>(*this); }
};

}  // namespace nine::scores
