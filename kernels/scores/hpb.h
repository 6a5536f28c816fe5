// hpb: minus the hyperbolic distance of two points of the unit ball (the Poincare model).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/score.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// `ball` says how a free vector x of length r becomes a point theta of the ball, in the direction
/// x/r at hyperbolic radius rho:
///   lorentz:  theta = x / (1 + sqrt(1 + r^2)), rho = asinh r
///   tanh:     theta = x tanh(r) / r, rho = 2r
///   clip:     theta = x, at radius 1 - 1e-5 at most, rho = 2 artanh |theta|
///   sigmoid:  the last number t gives the radius and the others the direction:
///             |theta| = sigmoid(t + shift), rho = log(1 + 2 e^(t + shift))
/// All four score -arcosh A, where A = cosh rho_w cosh rho_h - (sinh rho_w / r_w)(sinh rho_h / r_h)
/// z. A vector's statistics are c = e^-rho cosh rho, g = e^-rho sinh rho / r, and rho. They leave
/// the factor e^rho out, so that nothing overflows at any radius.
struct Hpb {
  static constexpr ScoreKind kKind = ScoreKind::hpb;
  static constexpr const char* kName = "hpb";
  static constexpr const char* kNote =
      "ball=lorentz is -arcosh(c_w c_h - z), c = sqrt(1 + |x|^2); no gradient at distance 0";
  static constexpr int kStats = 3;
  static constexpr bool kExactTarget = true;
  enum class Ball { lorentz, tanh, clip, sigmoid };
  static constexpr const char* kBalls[] = {"lorentz", "tanh", "clip", "sigmoid", nullptr};
  static constexpr ParameterInfo kParameters[] = {
      {"ball", 0, "how a vector enters the unit ball: lorentz, tanh, clip or sigmoid", kBalls},
      {.name = "shift",
       .default_value = -2,
       .meaning = "ball=sigmoid: added to the number that gives the radius",
       .learnable = Learnable::real}};

  // Uses e^rho = e: cosh rho is half the sum of e and 1/e, sinh rho half their difference.
  static KernelExpression expression(const Score& s) {
    const ExpressionLine held{"A", "max(a,1)", "1 + u is never below 1, but for rounding"},
        score{"S", "-acosh(A)", "minus the distance"};
    const Ball ball = static_cast<Ball>(static_cast<int>(s.parameters[0]));
    if (ball == Ball::lorentz)
      return {{{"c_w", "sqrt(1+ww)", "the word's height on the hyperboloid"},
               {"c_h", "sqrt(1+hh)", "the context's height on the hyperboloid"},
               {"a", "c_w*c_h-z", "the hyperbolic cosine of the distance"},
               held,
               score}};
    const auto point = [&](const std::string& of) -> std::vector<ExpressionLine> {
      const std::string e = "e_" + of, r = "r_" + of;
      if (ball == Ball::tanh)
        return {{e, "exp(2*sqrt(" + of + of + "))", "ball=tanh: the radius is twice the length"}};
      if (ball == Ball::sigmoid)
        return {{e, "1+2*exp(l" + of + "+shift)", "ball=sigmoid: from the last number"}};
      return {{r, "min(sqrt(" + of + of + "),0.99999)", "ball=clip: held at the rim"},
              {e, "(1+" + r + ")/(1-" + r + ")", "the radius is 2 artanh of that"}};
    };
    KernelExpression all{.lines = point("w")};
    for (const ExpressionLine& line : point("h")) all.lines.push_back(line);
    all.lines.push_back({"a", "((e_w+1/e_w)*(e_h+1/e_h)-(e_w-1/e_w)*(e_h-1/e_h)*c)/4",
                         "the hyperbolic law of cosines"});
    all.lines.push_back(held);
    all.lines.push_back(score);
    if (ball == Ball::sigmoid) all.extra = "number of the radius";
    if (ball == Ball::clip) all.ball = 1;
    return all;
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t d) {
    const bool sigmoid = s.parameters[0] == static_cast<double>(Ball::sigmoid);
    if (!sigmoid && (s.parameters[1] != kParameters[1].default_value || s.learns(1)))
      return "shift is for ball=sigmoid";
    return sigmoid && d >= 0 && d < 2 ? "ball=sigmoid takes one number of a vector for its radius, "
                                        "so vectors need 2 or more"
                                      : "";
  }
  Hpb(const Score& s, int64_t)
      : ball(static_cast<Ball>(static_cast<int>(s.parameters[0]))), shift(s.parameters[1]) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return ball == Ball::sigmoid ? n - 1 : n; }

  template <class T>
  NINE_HD void stats(const T* x, int64_t n, double* s) const {
    const Point p = point(x, n);
    s[0] = p.c;
    s[1] = p.g;
    s[2] = p.rho;
  }
  template <class T>
  NINE_HD void stats_backward(const T* x, int64_t n, const double*, const double* ds, T* dx) const {
    const Point p = point(x, n);
    if (p.r == 0) return;
    const double squeezed = std::exp(-2 * p.rho),
                 by_rho = ds[2] - squeezed * ds[0] + squeezed / p.r * ds[1];
    const double by_r = (by_rho * p.rho_by_r - ds[1] * p.g / p.r) / p.r;
    const int64_t dims = product_dims(n);
    Visit<T>::each(dims,
                   [&](int64_t k) { dx[k] += static_cast<T>(by_r * static_cast<double>(x[k])); });
    if (dims < n) Visit<T>::once([&] { dx[dims] += static_cast<T>(by_rho * p.rho_by_last); });
  }

  /// Slope with respect to g, which is 1/(2r) for large r; with ball=sigmoid also for small r.
  template <class T>
  NINE_HD static bool is_extreme(const double* stats) {
    const double square = stats[1] * stats[1];
    return stats[1] > 0 && (overflows<T>(0.25 / square) || overflows<T>(square));
  }

  template <class T>
  NINE_HD T value(T z, const T* w, const T* h) const {
    const T radii = w[2] + h[2];
    const Scaled<T> a = scaled(z, w, h);
    const bool near = radii < T(80);  // v is a normal number
    // For larger radii the excess of a close pair is rounding noise. The bound `least` avoids log
    // 0.
    const T far = a.v + a.excess + a.root - T(1), least = T(-1) + std::numeric_limits<T>::epsilon();
    const T over = near ? a.excess + a.root : (far < least ? least : far);
    return -((near ? T(0) : radii) + vlog1p(over / (near ? a.v : T(1))));
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T* w, const T* h) const {
    const Scaled<T> a = scaled(z, w, h);
    const T f = a.root > T(0) ? T(1) / a.root : T(0), by_rho = -f * (a.v + a.excess);
    return {f * w[1] * h[1], {-f * h[0], f * h[1] * z, by_rho}, {-f * w[0], f * w[1] * z, by_rho}};
  }

  /// Slope with respect to the shift, which changes both vectors' radii as their last numbers do
  /// (stats_backward).
  template <class T>
  NINE_HD T parameter_slope(int, T z, const T* w, const T* h) const {
    const Slopes<T, kStats> s = slopes(z, w, h);
    return by_last(s.w, w) + by_last(s.h, h);
  }
  template <class T>
  NINE_HD double exact_parameter_slope(int, const T* w, const T* h, int64_t d) const {
    T* const none = nullptr;
    double slope = 0;
    exact(w, h, d, 0, none, none, &slope);
    return slope;
  }

  /// True if A - 1 cancels: vectors of any length along one ray are near each other in the ball.
  template <class T>
  NINE_HD static bool needs_exact(T z, const T* w, const T* h) {
    const T straight = w[0] * h[0], turned = w[1] * h[1] * z;
    return (straight - turned) - vexp(-(w[2] + h[2])) < T(1e-4) * (straight + std::abs(turned));
  }

  /// Computes u = A - 1 = 2 sinh^2((rho_h - rho_w)/2) + sinh rho_h sinh rho_w |h/r_h - w/r_w|^2 /
  /// 2. Both differences come from h - w, so that close pairs do not cancel at any radius.
  /// Logarithms avoid overflow.
  template <class T>
  NINE_HD double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh,
                       double* by_shift = nullptr) const {
    const int64_t dims = product_dims(d);
    const Point pw = point(w, d), ph = point(h, d);
    const Directions<T> directions(w, h, dims, pw.r, ph.r);
    const double half = directions.half_square_distance(dims),
                 across = rho_difference(w, h, d, pw, ph, directions.r_difference);
    const double sw = pw.g * pw.r, sh = ph.g * ph.r, radii = pw.rho + ph.rho,
                 apart = std::abs(across);
    const double radial_share = 2 * std::log(-std::expm1(-apart)) - std::log(2.0),
                 angular_share = std::log(sw * sh * half), radial = apart + radial_share,
                 angular = radii + angular_share;
    const double top = std::max(radial, angular);
    if (top == -std::numeric_limits<double>::infinity()) return 0;  // both are the same point
    const double log_u = top + std::log1p(std::exp(std::min(radial, angular) - top)),
                 small = std::exp(-std::abs(log_u));
    if (dw != nullptr || dh != nullptr || by_shift != nullptr) {
      // The distance of log sqrt(u (u + 2)) below `apart` and below `radii`. For large u both come
      // from differences alone, because sums of radii of 1e16 have no digits left.
      double below_apart = 0, below_radii = 0;
      if (log_u > 0) {
        const double shared = 2 * std::min(pw.rho, ph.rho),  // radii - apart
            least = radial_share - shared, most = std::max(least, angular_share);
        below_radii = -most - std::log1p(std::exp(std::min(least, angular_share) - most)) -
                      std::log1p(2 * small) / 2;
        below_apart = below_radii - shared;
      } else {
        const double log_root = (log_u + std::log(small + 2)) / 2;
        below_radii = radii - log_root;
        below_apart = apart - log_root;
      }
      // Derivatives of A divided by that root, with respect to rho_h - rho_w and to the angle. They
      // leave out a factor of e^-radii times hyperbolic functions of the radii, which is multiplied
      // in below.
      const double by_across =
          std::copysign(std::exp(below_apart) * -std::expm1(-2 * apart) / 2, across);
      // half > 0 also if one radius is 0: the point then has no angle, but a gradient.
      const double by_angle = half > 0 ? std::exp(below_radii) : 0;
      const double by_rho_w = by_angle * sh * pw.c * half - by_across,
                   by_rho_h = by_angle * sw * ph.c * half + by_across;
      if (by_shift != nullptr) *by_shift = -(by_rho_w * pw.rho_by_last + by_rho_h * ph.rho_by_last);
      const double turn_w = by_angle * sh * pw.g, turn_h = by_angle * sw * ph.g;
      if (dw != nullptr || dh != nullptr)
        Visit<T>::each(dims, [&](int64_t k) {
          const double to = directions.difference(k), uw = directions.of_w(k),
                       uh = directions.of_h(k);
          if (dw != nullptr)
            dw[k] -= static_cast<T>(up * (by_rho_w * pw.rho_by_r * uw - turn_w * (to + half * uw)));
          if (dh != nullptr)
            dh[k] -= static_cast<T>(up * (by_rho_h * ph.rho_by_r * uh - turn_h * (half * uh - to)));
        });
      if (dims < d && dw != nullptr)
        Visit<T>::once([&] { dw[dims] -= static_cast<T>(up * by_rho_w * pw.rho_by_last); });
      if (dims < d && dh != nullptr)
        Visit<T>::once([&] { dh[dims] -= static_cast<T>(up * by_rho_h * ph.rho_by_last); });
    }
    return log_u > 0 ? -(log_u + std::log(small + 1 + std::sqrt(1 + 2 * small)))
                     : -std::log1p(small + std::sqrt(small * (small + 2)));
  }

  Ball ball;
  double shift;

 private:
  // Returns dS/d(last number) of a vector with statistics x, from the slopes with respect to the
  // statistics: through rho, on which c and g depend as in stats_backward.
  template <class T>
  NINE_HD static T by_last(const T* slopes, const T* x) {
    const T squeezed = vexp(T(-2) * x[2]), grown = T(0.5) * (T(1) - squeezed),
            over_r = x[1] / (grown > T(0) ? grown : T(1));
    return (slopes[2] - squeezed * (slopes[0] - over_r * slopes[1])) * (T(1) - vexp(-x[2]));
  }

  static constexpr double kRim = 1 - 1e-5;  // the largest radius with ball=clip
  NINE_HD static double within(double r) { return r > kRim ? kRim : r; }

  // Returns cosh(asinh r) = sqrt(1 + r^2), also if r^2 overflows.
  NINE_HD static double cosh_of_asinh(double r) { return r > 0x1p500 ? r : std::sqrt(1 + r * r); }

  struct Point {
    double r = 0, rho = 0, c = 1, g = 0, rho_by_r = 0, rho_by_last = 0;
  };
  template <class T>
  NINE_HD Point point(const T* x, int64_t n) const {
    Point p;
    p.r = norm(x, product_dims(n));
    if (ball == Ball::sigmoid) {
      if (p.r == 0) return p;  // no direction: the centre of the ball
      const double t = static_cast<double>(x[n - 1]) + shift + std::log(2.0);
      p.rho = std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t)));
      p.rho_by_last = -std::expm1(-p.rho);
    } else if (ball == Ball::lorentz) {
      p.rho = std::asinh(p.r);
      p.rho_by_r = 1 / cosh_of_asinh(p.r);
    } else if (ball == Ball::tanh) {
      p.rho = 2 * p.r;
      p.rho_by_r = 2;
    } else {
      p.rho = 2 * std::atanh(within(p.r));
      p.rho_by_r = p.r > kRim ? 0 : 2 / ((1 - p.r) * (1 + p.r));
    }
    const double grown = -std::expm1(-2 * p.rho) / 2;
    p.c = 1 - grown;
    p.g = p.r > 0 ? grown / p.r : p.rho_by_r;
    return p;
  }

  // Returns rho_h - rho_w, given r_h - r_w.
  template <class T>
  NINE_HD double rho_difference(const T* w, const T* h, int64_t d, const Point& pw, const Point& ph,
                                double r_difference) const {
    if (ball == Ball::lorentz) {
      // asinh((r_h - r_w) (r_h + r_w) / (r_h c_w + r_w c_h)), divided so that nothing overflows.
      const double cw = cosh_of_asinh(pw.r), ch = cosh_of_asinh(ph.r), sum = ph.r / ch + pw.r / cw;
      return sum == 0 ? 0
                      : std::asinh(r_difference / std::min(cw, ch) *
                                   ((ph.r + pw.r) / std::max(cw, ch)) / sum);
    }
    if (ball == Ball::tanh) return 2 * r_difference;
    if (ball == Ball::clip) {
      const double a = within(pw.r), b = within(ph.r);
      return 2 * std::atanh((std::max(pw.r, ph.r) > kRim ? b - a : r_difference) / (1 - a * b));
    }
    const double t = static_cast<double>(h[d - 1]) - static_cast<double>(w[d - 1]);
    if (pw.r == 0 || ph.r == 0 || std::abs(t) > 1) return ph.rho - pw.rho;
    return t < 0 ? std::log1p(pw.rho_by_last * std::expm1(t))
                 : -std::log1p(ph.rho_by_last * std::expm1(-t));
  }

  // The directions of both vectors and their difference h/r_h - w/r_w, computed from h - w. A zero
  // vector has direction 0.
  template <class T>
  struct Directions {
    NINE_HD Directions(const T* w_, const T* h_, int64_t n, double rw, double rh)
        : w(w_), h(h_), r_w(rw), r_h(rh) {
      const double scale = safe_scale(std::max(rw, rh)), both = rw * scale + rh * scale;
      const auto term = [&](int64_t k) {
        const double a = static_cast<double>(w[k]) * scale, b = static_cast<double>(h[k]) * scale;
        return (b - a) * (b + a);
      };
      r_difference = both == 0 ? 0 : sum_of<T>(n, term) / both / scale;
    }
    NINE_HD double of_w(int64_t k) const { return r_w > 0 ? static_cast<double>(w[k]) / r_w : 0; }
    NINE_HD double of_h(int64_t k) const { return r_h > 0 ? static_cast<double>(h[k]) / r_h : 0; }
    NINE_HD double difference(int64_t k) const {
      if (r_w == 0 || r_h == 0) return of_h(k) - of_w(k);
      const double e = static_cast<double>(h[k]) - static_cast<double>(w[k]);
      return r_h >= r_w ? (e - of_w(k) * r_difference) / r_h : (e - of_h(k) * r_difference) / r_w;
    }
    NINE_HD double half_square_distance(int64_t n) const {
      return 0.5 * sum_of<T>(n, [this](int64_t k) {
               const double e = difference(k);
               return e * e;
             });
    }

    const T *w, *h;
    double r_w, r_h, r_difference = 0;
  };

  // The values 1, A - 1 and sqrt(A^2 - 1), each times e^-(rho_w + rho_h).
  template <class T>
  struct Scaled {
    T v, excess, root;
  };
  template <class T>
  NINE_HD static Scaled<T> scaled(T z, const T* w, const T* h) {
    const T v = vexp(-(w[2] + h[2])), more = (w[0] * h[0] - w[1] * h[1] * z) - v,
            excess = more < T(0) ? T(0) : more;  // keeps NaN: z has overflowed
    return {v, excess, std::sqrt(excess * (excess + T(2) * v))};
  }
};

}  // namespace nine::scores
