// ssg: two spherical Gaussians; the score is the logarithm of the integral of their product.
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/score.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// S = -(D/2) log(2 pi sigma) - q/(2 sigma), sigma = s_w + s_h. With variance=split the last number
/// of a vector gives its log-variance, l = pace * number, s = exp(l) + 1e-6, and the other D = d -
/// 1 numbers are its mean. With a constant variance s all D = d numbers are the mean. A pace below
/// 1 slows the variances down: Adam moves every number at the same rate, and S changes by up to D/2
/// with l. Statistics: |mean|^2, log s and s (at most e^40). Sums of variances are computed from
/// logarithms, so that nothing overflows, or directly where fast_path_valid holds for both vectors.
struct Ssg {
  static constexpr ScoreKind kKind = ScoreKind::ssg;
  static constexpr const char* kName = "ssg";
  static constexpr const char* kNote =
      "with a constant variance, it is the inner product plus a word bias, (z - |w|^2/2)/sigma";
  static constexpr int kStats = 3, kGradients = 2;
  static constexpr bool kExactTarget = true;
  static constexpr const char* kVariances[] = {"split", nullptr};
  static constexpr ParameterInfo kParameters[] = {
      {"variance", 0,
       "split: a vector's last number is its log-variance; or a constant > 0, the same for all "
       "vectors",
       kVariances, true, Learnable::positive},
      {.name = "pace",
       .default_value = 1,
       .meaning = "variance=split: factor of the last number that gives the log-variance, > 0",
       .silent = true}};

  static KernelExpression expression(const Score& s) {
    return expression(s.parameters[0] == 0, s.parameters[1]);
  }
  static KernelExpression expression(bool split, double pace) {
    const ExpressionLine score{"S", "-d/2*(log(2*pi)+log(sigma))-q/(2*sigma)", "the kernel"};
    if (!split) return {{{"sigma", "2*variance", "both variances are the constant"}, score}};
    const std::string l = pace == 1 ? "l" : "pace*l", why = "the variance, from the last number";
    return {.lines = {{"s_w", "exp(" + l + "w)+0.000001", why},
                      {"s_h", "exp(" + l + "h)+0.000001", why},
                      {"sigma", "s_w+s_h", "variances add"},
                      score},
            .extra = pace == 1 ? "log-variance" : "number of the log-variance"};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t d) {
    return check(s.parameters[0], s.parameters[1], d);
  }
  static std::string check(double variance, double pace, int64_t d) {
    if (!(variance >= 0)) return "variance must be split or > 0";
    if (!(pace > 0 && std::isfinite(pace))) return "pace must be > 0";
    if (variance != 0 && pace != kParameters[1].default_value) return "pace is for variance=split";
    return variance == 0 && d >= 0 && d < 2
               ? "variance=split takes one number of a vector, so vectors need 2 or more"
               : "";
  }
  Ssg(const Score& s, int64_t d) : Ssg(s.parameters[0], s.parameters[1], d) {}
  Ssg(double variance_or_0, double of_log_variance, int64_t d)
      : variance(variance_or_0),
        pace(of_log_variance),
        half_dims(static_cast<double>(product_dims(d)) / 2) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return split() ? n - 1 : n; }

  template <class T>
  NINE_HD void stats(const T* x, int64_t n, double* s) const {
    s[0] = square_norm(x, product_dims(n));
    s[1] = log_variance(x, n);
    s[2] = std::exp(s[1] < kMaxFastLogVariance ? s[1] : kMaxFastLogVariance);
  }
  template <class T>
  NINE_HD void stats_backward(const T* x, int64_t n, const double*, const double* ds, T* dx) const {
    const int64_t dims = product_dims(n);
    Visit<T>::each(
        dims, [&](int64_t k) { dx[k] += static_cast<T>(2 * ds[0] * static_cast<double>(x[k])); });
    if (split()) Visit<T>::once([&] { dx[dims] += static_cast<T>(ds[1] * variance_share(x, n)); });
  }

  template <class T>
  NINE_HD static bool is_extreme(const double* stats) {
    return overflows<T>(stats[0]);
  }
  /// True if s is far from the smallest and the largest float; then sums of variances are too.
  template <class T>
  NINE_HD static bool fast_path_valid(const T* stats) {
    return std::abs(stats[1]) < T(kMaxFastLogVariance);
  }
  template <bool kFast = false, class T>
  NINE_HD T value(T z, const T* w, const T* h) const {
    const Sum<T> s = sum_of_variances<kFast>(w, h);
    return static_cast<T>(-half_dims) * (s.log + T(kLog2Pi)) -
           distance(z, w, h) * (T(0.5) * s.inverse);
  }
  template <bool kFast = false, class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T* w, const T* h) const {
    const Sum<T> s = sum_of_variances<kFast>(w, h);
    const T q = distance(z, w, h), by_q = q > T(0) ? T(-0.5) * s.inverse : T(0);
    const T by_log_sum = q * (T(0.5) * s.inverse) - static_cast<T>(half_dims);
    return {
        T(-2) * by_q, {by_q, by_log_sum * s.share_w, T(0)}, {by_q, by_log_sum * s.share_h, T(0)}};
  }

  // Slope with respect to the variance s of all vectors, where sigma = 2 s.
  template <class T>
  NINE_HD T parameter_slope(int, T z, const T* w, const T* h) const {
    return by_variance(distance(z, w, h));
  }
  template <class T>
  NINE_HD double exact_parameter_slope(int, const T* w, const T* h, int64_t d) const {
    return by_variance(square_distance(w, h, product_dims(d)));
  }

  template <class T>
  NINE_HD double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const {
    const int64_t dims = product_dims(d);
    const double log_w = log_variance(w, d), log_h = log_variance(h, d);
    const double of_w[] = {0, log_w}, of_h[] = {0, log_h};
    const Sum<double> s = sum_of_variances<false>(of_w, of_h);
    const double q = square_distance(w, h, dims),
                 by_log_sum = up * (q * (0.5 * s.inverse) - half_dims);
    if (dw != nullptr || dh != nullptr)
      Visit<T>::each(dims, [&](int64_t k) {
        const T g = static_cast<T>(-up * s.inverse *
                                   (static_cast<double>(w[k]) - static_cast<double>(h[k])));
        if (dw != nullptr) dw[k] += g;
        if (dh != nullptr) dh[k] -= g;
      });
    if (split() && dw != nullptr)
      Visit<T>::once(
          [&] { dw[dims] += static_cast<T>(by_log_sum * s.share_w * variance_share(w, d)); });
    if (split() && dh != nullptr)
      Visit<T>::once(
          [&] { dh[dims] += static_cast<T>(by_log_sum * s.share_h * variance_share(h, d)); });
    return -half_dims * (s.log + kLog2Pi) - q * (0.5 * s.inverse);
  }

  double variance;   // 0: variance=split
  double pace;       // factor of log-variances
  double half_dims;  // D/2

 private:
  static constexpr double kMinVariance = 1e-6, kLog2Pi = 1.8378770664093454836,
                          kMaxFastLogVariance = 40;
  static constexpr double kLogMinVariance = -13.815510557964274104;

  NINE_HD bool split() const { return variance == 0; }
  template <class T>
  NINE_HD T by_variance(T q) const {
    return q * static_cast<T>(1 / (4 * variance * variance)) - static_cast<T>(half_dims / variance);
  }
  template <class T>
  NINE_HD static T distance(T z, const T* w, const T* h) {
    const T q = w[0] + h[0] - T(2) * z;
    return q < T(0) ? T(0) : q;  // keeps NaN: a product that has overflowed is not a distance
  }
  template <class T>
  NINE_HD double log_variance(const T* x, int64_t n) const {
    if (!split()) return std::log(variance);
    const double l = pace * static_cast<double>(x[n - 1]);
    return l > kLogMinVariance ? l + std::log1p(kMinVariance * std::exp(-l))
                               : kLogMinVariance + std::log1p(std::exp(l) / kMinVariance);
  }
  // d log s / d(last number) = pace exp(l) / s.
  template <class T>
  NINE_HD double variance_share(const T* x, int64_t n) const {
    return pace / (1 + kMinVariance * std::exp(-pace * static_cast<double>(x[n - 1])));
  }

  // Values of sigma = s_w + s_h: its logarithm, its inverse, and the shares of both variances.
  template <class T>
  struct Sum {
    T log, inverse, share_w, share_h;
  };
  template <bool kFast, class T>
  NINE_HD static Sum<T> sum_of_variances(const T* w, const T* h) {
    if constexpr (kFast) {
      const T sigma = w[2] + h[2], inverse = T(1) / sigma;
      return {vlog_normal(sigma), inverse, w[2] * inverse, h[2] * inverse};
    } else {
      const bool w_larger = w[1] > h[1];
      const T large = w_larger ? w[1] : h[1], small = w_larger ? h[1] : w[1];
      const T ratio = vexp(small - large), more = T(1) / (T(1) + ratio), less = ratio * more;
      return {large + vlog1p_unit(ratio), vexp(-large) * more, w_larger ? more : less,
              w_larger ? less : more};
    }
  }
};

}  // namespace nine::scores
