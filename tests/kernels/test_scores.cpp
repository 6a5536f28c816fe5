// The kernels' structs against the formulas of docs/heads.md, sections 1 to 3, in long double:
// values, slopes, statistics, the exact form for the target, at ordinary places and at the
// extremes; and what the formulas collapse to and are bounded by.
#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/scores/all.h"
#include "tests/kernels/score_oracle.h"

namespace nine::tests::test_scores {
namespace {

template <class T>
using Vector = std::vector<T>;

// What the block ops do with a kernel, for one pair.
template <class T>
struct Pair {
  double value = 0;
  Vector<T> dw, dh;
};

template <class T, class K>
struct Stats {
  T of[std::max(1, K::kStats)] = {};
  Stats(const K& kernel, const T* x, int64_t n) {
    double s[std::max(1, K::kStats)] = {};
    if constexpr (K::kStats > 0) kernel.stats(x, n, s);
    for (int k = 0; k < K::kStats; ++k) of[k] = static_cast<T>(s[k]);
  }
};

// Value and gradients of one part's pair, from product and statistics, added with `weight`.
template <class T, class K>
T pair_of_parts(const K& kernel, const T* w, const T* h, int64_t n, double weight, T* dw, T* dh) {
  const int64_t dims = kernel.product_dims(n);
  double z = 0;
  for (int64_t k = 0; k < dims; ++k) z += static_cast<double>(w[k]) * static_cast<double>(h[k]);
  const Stats<T, K> sw(kernel, w, n), sh(kernel, h, n);
  const auto slopes = kernel.slopes(static_cast<T>(z), sw.of, sh.of);
  const T up = static_cast<T>(weight);
  for (int64_t k = 0; k < dims; ++k) {
    dw[k] += up * slopes.z * h[k];
    dh[k] += up * slopes.z * w[k];
  }
  if constexpr (K::kStats > 0) {
    double of_w[K::kStats], of_h[K::kStats], by_w[K::kStats], by_h[K::kStats];
    kernel.stats(w, n, of_w);
    kernel.stats(h, n, of_h);
    for (int k = 0; k < K::kStats; ++k) {
      by_w[k] = static_cast<double>(up * slopes.w[k]);
      by_h[k] = static_cast<double>(up * slopes.h[k]);
    }
    kernel.stats_backward(w, n, of_w, by_w, dw);
    kernel.stats_backward(h, n, of_h, by_h, dh);
  }
  return kernel.value(static_cast<T>(z), sw.of, sh.of);
}

template <class T, class K>
Pair<T> by_product(const K& kernel, const Vector<T>& w, const Vector<T>& h) {
  Pair<T> out{0, Vector<T>(w.size()), Vector<T>(h.size())};
  const auto d = static_cast<int64_t>(w.size());
  if constexpr (scores::OfParts<K>) {
    const int64_t count = kernel.parts(), n = d / count;
    std::vector<double> xi;
    Vector<T> unused(w.size());
    for (int64_t p = 0; p < count * count; ++p)
      xi.push_back(static_cast<double>(pair_of_parts(kernel.part, w.data() + p / count * n,
                                                     h.data() + p % count * n, n, 0.0,
                                                     unused.data(), unused.data())));
    const double top = *std::max_element(xi.begin(), xi.end());
    double sum = 0, total = 0;
    for (const double x : xi) {
      sum += x;
      total += std::exp(x - top);
    }
    for (int64_t p = 0; p < count * count; ++p) {
      const int64_t i = p / count * n, j = p % count * n;
      const double weight = kernel.mixture ? std::exp(xi[static_cast<size_t>(p)] - top) / total : 1;
      pair_of_parts(kernel.part, w.data() + i, h.data() + j, n, weight, out.dw.data() + i,
                    out.dh.data() + j);
    }
    out.value = kernel.mixture ? top + std::log(total / static_cast<double>(count * count)) : sum;
  } else {
    out.value = static_cast<double>(
        pair_of_parts(kernel, w.data(), h.data(), d, 1.0, out.dw.data(), out.dh.data()));
  }
  return out;
}

template <class T, class K>
Pair<T> exactly(const K& kernel, const Vector<T>& w, const Vector<T>& h, double up = 1) {
  Pair<T> out{0, Vector<T>(w.size()), Vector<T>(h.size())};
  const auto d = static_cast<int64_t>(w.size());
  if constexpr (K::kExactTarget) {
    out.value = kernel.exact(w.data(), h.data(), d, up, out.dw.data(), out.dh.data());
    T* const none = nullptr;
    CHECK(kernel.exact(w.data(), h.data(), d, up, none, none) ==
          doctest::Approx(out.value).epsilon(1e-14));
  } else {
    out = by_product<T>(kernel, w, h);
  }
  return out;
}

Vector<double> random_vector(int64_t d, double norm, uint32_t seed) {
  std::mt19937 random(seed);
  Vector<double> x(static_cast<size_t>(d));
  double square = 0;
  for (double& v : x) {
    v = static_cast<double>(random()) / 2147483648.0 - 1;
    square += v * v;
  }
  for (double& v : x) v *= norm / std::sqrt(square);
  return x;
}

template <class To, class From>
std::vector<To> as(const std::vector<From>& x) {
  return std::vector<To>(x.begin(), x.end());
}

// max |a - b| / max |b|.
template <class A, class B>
double relative(const std::vector<A>& a, const std::vector<B>& b) {
  REQUIRE(a.size() == b.size());
  long double off = 0, size = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const auto x = static_cast<long double>(a[k]), y = static_cast<long double>(b[k]);
    if (std::isnan(x) || std::isnan(y)) return HUGE_VAL;
    off = std::max(off, std::abs(x - y));
    size = std::max(size, std::abs(y));
  }
  return static_cast<double>(off == 0 ? 0 : off / size);
}
double relative(double a, long double b) {
  return relative(std::vector<double>{a}, std::vector<long double>{b});
}

// Whether a kernel's pairs with the vector cannot be computed from products of floats.
template <class K>
bool is_extreme(const K& kernel, const Vector<double>& x) {
  if constexpr (scores::KnowsExtremes<K>) {
    const int64_t size = std::ssize(x) / kernel.parts();
    for (int64_t i = 0; i < kernel.parts(); ++i) {
      double stats[K::kStats];
      kernel.stats(x.data() + i * size, size, stats);
      if (K::template is_extreme<float>(stats)) return true;
    }
  }
  return false;
}

bool finite(double x) { return std::isfinite(x); }
template <class T>
bool finite(const Pair<T>& p) {
  const auto all = [](const Vector<T>& v) {
    return std::all_of(v.begin(), v.end(), [](T x) { return std::isfinite(x); });
  };
  return finite(p.value) && all(p.dw) && all(p.dh);
}

// Calls f with the kernel's struct of a case.
template <class F>
void with_kernel(const ScoreCase& c, F&& f) {
  CAPTURE(c.name);
  if (c.score.kind == ScoreKind::mog) {
    f(scores::Mog(c.score, c.dims));
  } else {
    scores::visit(c.score, c.dims, f);
  }
}

void check_against_dense(const ScoreCase& c, const Vector<double>& w, const Vector<double>& h,
                         double value_limit, double gradient_limit) {
  const Reals rw = as<long double>(w), rh = as<long double>(h);
  const long double value = dense_score(c.score, rw, rh);
  const Reals dw = dense_gradient(c.score, rw, rh, false),
              dh = dense_gradient(c.score, rw, rh, true);
  with_kernel(c, [&](const auto& kernel) {
    const Pair<double> product = by_product<double>(kernel, w, h),
                       exact = exactly<double>(kernel, w, h);
    for (const auto* p : {&product, &exact}) {
      CAPTURE((p == &exact));
      CHECK_MESSAGE(relative(p->value, value) < value_limit, p->value, " is not ",
                    static_cast<double>(value));
      CHECK(relative(p->dw, dw) < gradient_limit);
      CHECK(relative(p->dh, dh) < gradient_limit);
    }
  });
}

struct Posterior {
  std::vector<double> p;
};
// Softmax over words of one context's scores.
Posterior softmax(const std::vector<double>& s) {
  const double top = *std::max_element(s.begin(), s.end());
  Posterior out{s};
  double sum = 0;
  for (double& x : out.p) sum += x = std::exp(x - top);
  for (double& x : out.p) x /= sum;
  return out;
}

double score_of(const Score& score, const Vector<double>& w, const Vector<double>& h) {
  double s = 0;
  with_kernel({"", score, static_cast<long>(w.size())},
              [&](const auto& kernel) { s = by_product<double>(kernel, w, h).value; });
  return s;
}

std::vector<Vector<double>> random_vectors(int count, int64_t d, double norm, uint32_t seed) {
  std::vector<Vector<double>> all;
  for (int i = 0; i < count; ++i)
    all.push_back(random_vector(d, norm * (0.5 + 0.1 * (i % 10)), seed + static_cast<uint32_t>(i)));
  return all;
}

// Posteriors of a score against those of another given as a function of (w, h).
template <class Other>
double posterior_difference(const Score& score, int64_t d, Other&& other) {
  double worst = 0;
  const auto words = random_vectors(30, d, 2, 5);
  for (const Vector<double>& h : random_vectors(5, d, 2, 905)) {
    std::vector<double> a, b;
    for (const Vector<double>& w : words) {
      a.push_back(score_of(score, w, h));
      b.push_back(other(w, h));
    }
    worst = std::max(worst, relative(softmax(a).p, softmax(b).p));
  }
  return worst;
}

double inner(const Vector<double>& a, const Vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

TEST_CASE("scores: value, gradients and exact form are the dense formula's") {
  for (const ScoreCase& c : score_cases())
    for (uint32_t seed = 1; seed <= 20; ++seed)
      for (const double norm : {0.3, 1.1, 2.5}) {
        // There 1 - |theta|^2 is 2e-5 and the oracle's differences have as many digits fewer.
        const bool on_the_rim = c.name == "hpb:ball=clip" && norm >= 1;
        check_against_dense(c, random_vector(c.dims, norm, seed),
                            random_vector(c.dims, norm * 0.8, seed + 100), 1e-12,
                            on_the_rim ? 1e-6 : 1e-10);
      }
}

TEST_CASE("scores: the exact form keeps its digits for close pairs") {
  for (const ScoreCase& c : score_cases())
    for (const double norm : {0.5, 3.0})
      for (const double off : {1e-3, 1e-5}) {
        const Vector<double> w = random_vector(c.dims, norm, 3), e = random_vector(c.dims, off, 4);
        Vector<double> h = w;
        for (size_t k = 0; k < h.size(); ++k) h[k] += e[k];
        const long double value = dense_score(c.score, as<long double>(w), as<long double>(h));
        with_kernel(c, [&](const auto& kernel) {
          const Pair<double> exact = exactly<double>(kernel, w, h);
          CHECK(relative(exact.value, value) < 1e-11);
          // Differences across a distance of `off` need a small step: along the line, S's slope by
          // q is what the kernel says.
          if (off > 1e-4) {
            CHECK(relative(exact.dw, dense_gradient(c.score, as<long double>(w), as<long double>(h),
                                                    false)) < 1e-5);
            CHECK(relative(exact.dh, dense_gradient(c.score, as<long double>(w), as<long double>(h),
                                                    true)) < 1e-5);
          }
        });
      }
}

TEST_CASE("scores: float is double to float's rounding") {
  for (const ScoreCase& c : score_cases())
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      const Vector<float> w = as<float>(random_vector(c.dims, 1.5, seed)),
                          h = as<float>(random_vector(c.dims, 1, seed + 50));
      with_kernel(c, [&](const auto& kernel) {
        const Pair<float> a = by_product<float>(kernel, w, h), exact = exactly<float>(kernel, w, h);
        const Pair<double> b = by_product<double>(kernel, as<double>(w), as<double>(h));
        const double limit =
            c.name == "pol:p=7" ? 1e-4 : 1e-5;  // its base cancels, and is taken to the 7th
        for (const auto* p : {&a, &exact}) {
          CHECK(relative(p->value, b.value) < limit);
          CHECK(relative(p->dw, b.dw) < limit);
          CHECK(relative(p->dh, b.dh) < limit);
        }
      });
    }
}

TEST_CASE("scores: extremes are finite, and a pair at distance 0 has no gradient") {
  for (const ScoreCase& c : score_cases()) {
    const Vector<double> zero(static_cast<size_t>(c.dims)),
        one = random_vector(c.dims, 1, 1), large = random_vector(c.dims, 1e4, 2),
        other = random_vector(c.dims, 1e4, 3), tiny = random_vector(c.dims, 1e-30, 4);
    with_kernel(c, [&](const auto& kernel) {
      using K = std::decay_t<decltype(kernel)>;
      for (const auto* w : {&zero, &one, &large, &other, &tiny})
        for (const auto* h : {&zero, &one, &large, &other, &tiny}) {
          CAPTURE(inner(*w, *w));
          CAPTURE(inner(*h, *h));
          const Pair<double> product = by_product<double>(kernel, *w, *h),
                             exact = exactly<double>(kernel, *w, *h);
          const bool overflows = c.name == "pol:p=7";  // 1e8 to the 7th is no float
          CHECK(finite(product));
          CHECK(finite(exact));
          if (!overflows && !is_extreme(kernel, *w) && !is_extreme(kernel, *h))
            CHECK(finite(by_product<float>(kernel, as<float>(*w), as<float>(*h))));
          if (!overflows) CHECK(finite(exactly<float>(kernel, as<float>(*w), as<float>(*h))));
          if (w != h || !K::kExactTarget || scores::OfParts<K>) continue;
          const int64_t dims = kernel.product_dims(c.dims);
          for (int64_t k = 0; k < dims; ++k) {
            CHECK(exact.dw[static_cast<size_t>(k)] == 0);
            CHECK(exact.dh[static_cast<size_t>(k)] == 0);
          }
        }
    });
  }
}

TEST_CASE("scores: hpb far out, where the formula of the ball has no digits left") {
  // On a line through the middle the distance is the difference (or sum) of the radii.
  const auto along = [](double r) { return Vector<double>{0, r}; };
  const scores::Hpb tanh(Score{ScoreKind::hpb, {1, -2}}, 2),
      lorentz(Score{ScoreKind::hpb, {0, -2}}, 2);
  for (const double r : {5.0, 12.0, 40.0, 400.0, 1e4}) {
    CAPTURE(r);
    CHECK(exactly<double>(tanh, along(r), along(r + 0.25)).value ==
          doctest::Approx(-0.5).epsilon(1e-9));
    CHECK(exactly<double>(tanh, along(r), along(-r)).value == doctest::Approx(-4 * r));
    CHECK(by_product<double>(tanh, along(r), along(-r)).value == doctest::Approx(-4 * r));
    CHECK(by_product<float>(tanh, as<float>(along(r)), as<float>(along(-r))).value ==
          doctest::Approx(-4 * r));
    CHECK(exactly<double>(tanh, along(r), along(r + 0.25)).dh[1] == doctest::Approx(-2));
    CHECK(exactly<double>(lorentz, along(std::sinh(5)), along(std::sinh(5.5))).value ==
          doctest::Approx(-0.5).epsilon(1e-12));
  }
  // A right angle: cosh of the distance is the product of the radii's.
  CHECK(exactly<double>(tanh, {0.7, 0}, {0, 0.4}).value ==
        doctest::Approx(-std::acosh(std::cosh(1.4) * std::cosh(0.8))));
}

namespace {

// For vectors of length r and r / 3 at an angle, in the plane of the first two numbers, the last
// number of each being `last` if d = 3.
template <class T>
Pair<T> hpb_at_angle(int ball, double angle, double r, long d, double last) {
  Vector<T> w(static_cast<size_t>(d), static_cast<T>(last)), h = w;
  w[0] = static_cast<T>(r);
  w[1] = 0;
  h[0] = static_cast<T>(r / 3 * std::cos(angle));
  h[1] = static_cast<T>(r / 3 * std::sin(angle));
  return exactly<T>(scores::Hpb(Score{ScoreKind::hpb, {static_cast<double>(ball), -2}}, d), w, h);
}

template <class T>
void check_hpb_far_out(double r) {
  CAPTURE(r);
  constexpr double kAngle = 1.1;
  const double limit = std::is_same_v<T, float> ? 1e-6 : 1e-12;
  // The hyperbolic law of cosines far out: the distance is rho_w + rho_h + log((1 - cos) / 2).
  for (const int ball : {0, 1}) {
    const auto rho = [&](double x) { return ball == 0 ? std::asinh(x) : 2 * x; };
    const Pair<T> p = hpb_at_angle<T>(ball, kAngle, r, 2, 0);
    CHECK(relative(p.value, -(rho(r) + rho(r / 3) + std::log((1 - std::cos(kAngle)) / 2))) < limit);
    const double by_r = ball == 0 ? 1 / r : 2, turn = std::sin(kAngle) / (1 - std::cos(kAngle)) / r;
    CHECK(relative(static_cast<double>(p.dw[0]), -by_r) < limit);
    CHECK(relative(static_cast<double>(p.dw[1]), turn) < limit);
  }
  // These depend on the directions alone, the first beyond the rim.
  CHECK(relative(hpb_at_angle<T>(2, kAngle, r, 2, 0).value,
                 hpb_at_angle<T>(2, kAngle, 6, 2, 0).value) < limit);
  CHECK(relative(hpb_at_angle<T>(3, kAngle, r, 3, 1).value,
                 hpb_at_angle<T>(3, kAngle, 6, 3, 1).value) < limit);
}

}  // namespace

TEST_CASE("scores: hpb of vectors whose squares overflow") {
  for (const double r : {1e5, 1e10, 1e20, 1e30, 1e36}) check_hpb_far_out<float>(r);
  for (const double r : {1e10, 1e20, 1e150, 1e154, 1e155, 1e200, 1e300})
    check_hpb_far_out<double>(r);
  // A close pair far out keeps its digits.
  const scores::Hpb lorentz(Score{ScoreKind::hpb, {0, -2}}, 2);
  CHECK(exactly<double>(lorentz, {0, 1e200}, {0, 1e200 * (1 + 0x1p-30)}).value ==
        doctest::Approx(-std::log1p(0x1p-30)).epsilon(1e-12));
  const double unknown[] = {0, NAN}, known[] = {0, 1};
  double* const none = nullptr;
  CHECK(std::isnan(lorentz.exact(unknown, known, 2, 0, none, none)));
}

TEST_CASE("scores: ssg with huge log-variances") {
  const scores::Ssg ssg(Score{ScoreKind::ssg, {0, 1}}, 3);
  const Pair<double> p = exactly<double>(ssg, {1, 2, 900}, {0, 1, -900}),
                     q = by_product<double>(ssg, {1, 2, 900}, {0, 1, -900});
  CHECK(p.value == doctest::Approx(-std::log(2 * std::acos(-1.0)) - 900));
  CHECK(p.dw[2] == doctest::Approx(-1));
  CHECK(p.dh[2] == 0);
  CHECK(q.value == doctest::Approx(p.value));
  CHECK(finite(by_product<float>(ssg, {1, 2, 900}, {0, 1, -900})));
}

TEST_CASE_TEMPLATE("scores: ssg's shorter way is the one for all", T, float, double) {
  const scores::Ssg ssg(Score{ScoreKind::ssg, {0, 1}}, 3);
  const double limit = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;
  for (const double of_w : {-50.0, -13.8, -3.0, 0.0, 0.1, 25.0, 39.0})
    for (const double of_h : {-20.0, -13.0, -0.1, 0.0, 7.0, 39.9}) {
      CAPTURE(of_w);
      CAPTURE(of_h);
      const Vector<T> w = as<T>(Vector<double>{1, 2, of_w}),
                      h = as<T>(Vector<double>{-0.5, 1, of_h});
      const Stats<T, scores::Ssg> sw(ssg, w.data(), 3), sh(ssg, h.data(), 3);
      REQUIRE(scores::Ssg::fast_path_valid(sw.of));
      REQUIRE(scores::Ssg::fast_path_valid(sh.of));
      const T z = T(1.5);
      CHECK(relative(static_cast<double>(ssg.template value<true>(z, sw.of, sh.of)),
                     ssg.value(z, sw.of, sh.of)) < limit);
      const auto a = ssg.template slopes<true>(z, sw.of, sh.of), b = ssg.slopes(z, sw.of, sh.of);
      CHECK(relative(static_cast<double>(a.z), b.z) < 20 * limit);
      for (int i = 0; i < scores::kGradientsOf<scores::Ssg>; ++i) {
        CHECK(relative(static_cast<double>(a.w[i]), b.w[i]) < 20 * limit);
        CHECK(relative(static_cast<double>(a.h[i]), b.h[i]) < 20 * limit);
      }
    }
  Vector<T> beyond{1, 2, 41};
  CHECK_FALSE(scores::Ssg::fast_path_valid(Stats<T, scores::Ssg>(ssg, beyond.data(), 3).of));
}

TEST_CASE_TEMPLATE("scores: pol's shorter way has the bits of the one for all", T, float, double) {
  const T* none = nullptr;
  for (int p = 1; p <= 3; ++p) {
    const scores::Pol pol(Score{ScoreKind::pol, {0.7, -0.3, static_cast<double>(p)}}, 3);
    REQUIRE(pol.fast_path_valid(none));
    for (const double of : {-1e4, -1.5, 0.0, 1e-9, 0.9, 40.0}) {
      CAPTURE(of);
      const T z = static_cast<T>(of);
      CHECK(pol.template value<true>(z, none, none) == pol.value(z, none, none));
      CHECK(pol.template slopes<true>(z, none, none).z == pol.slopes(z, none, none).z);
    }
  }
  CHECK_FALSE(scores::Pol(Score{ScoreKind::pol, {1, 1, 4}}, 3).fast_path_valid(none));
}

// Subnormal squares doubled the time of a training step on an Intel Xeon.
TEST_CASE("scores: pol takes no power that its score does not need") {
  const float* none = nullptr;
  for (const int p : {1, 2, 3, 4, 8}) {
    const scores::Pol pol(Score{ScoreKind::pol, {1, 0, static_cast<double>(p)}}, 3);
    for (const float of : {0.01F, 0.5F, 1.5F, 100.0F}) {
      CAPTURE(p);
      CAPTURE(of);
      std::feclearexcept(FE_ALL_EXCEPT);
      const volatile float z = of;
      const volatile float value = pol.value(z + 0, none, none);
      const volatile float slope = pol.slopes(z + 0, none, none).z;
      CHECK(std::fetestexcept(FE_UNDERFLOW | FE_OVERFLOW) == 0);
      CHECK(std::isfinite(value + slope));
    }
  }
}

TEST_CASE("scores: what kernels collapse to, as posteriors") {
  const double tolerance = 1e-12;
  CHECK(posterior_difference({ScoreKind::pow, {2}}, 6, [](const auto& w, const auto& h) {
          return 2 * inner(w, h) - inner(w, w);
        }) < tolerance);
  CHECK(posterior_difference({ScoreKind::ssg, {0.35, 1}}, 6,
                             [](const auto& w, const auto& h) {  // sigma = 0.7
                               return inner(w, h) / 0.7 - inner(w, w) / 1.4;
                             }) < tolerance);
  CHECK(
      posterior_difference({ScoreKind::mog, {3, 0, 0.35, 1}}, 6, [](const auto& w, const auto& h) {
        double z = 0;
        for (size_t k = 0; k < 2; ++k)
          z += (w[k] + w[k + 2] + w[k + 4]) * (h[k] + h[k + 2] + h[k + 4]);
        return z / 0.7 - 3 * inner(w, w) / 1.4;  // a word bias
      }) < tolerance);
  CHECK(posterior_difference({ScoreKind::mog, {1, 0, 0, 1}}, 6, [](const auto& w, const auto& h) {
          return score_of({ScoreKind::ssg, {0, 1}}, w, h);
        }) < tolerance);
  CHECK(posterior_difference({ScoreKind::mog, {1, 1, 0, 1}}, 6, [](const auto& w, const auto& h) {
          return score_of({ScoreKind::ssg, {0, 1}}, w, h);
        }) < tolerance);
  CHECK(posterior_difference({ScoreKind::hpb, {0, -2}}, 6, [](const auto& w, const auto& h) {
          return -std::acosh(std::sqrt((1 + inner(w, w)) * (1 + inner(h, h))) - inner(w, h));
        }) < tolerance);
  CHECK(posterior_difference({ScoreKind::pol, {2, 5, 1}}, 6, [](const auto& w, const auto& h) {
          return 2 * inner(w, h);
        }) < tolerance);
}

TEST_CASE("scores: a score within [m, 1] bounds the perplexity from below") {
  constexpr int kWords = 50;
  std::mt19937 random(7);
  for (const Score& score : {Score{ScoreKind::rbf, {0.4}}, Score{ScoreKind::wav, {0.3, 2}}}) {
    double least = 0;
    if (score.kind == ScoreKind::wav) {  // docs/heads.md, section 6
      const double r = std::abs(score.parameters[0]) / score.parameters[1];
      least = -std::exp(-r * (std::numbers::pi - std::atan(r))) / std::sqrt(1 + r * r);
    }
    for (const double norm : {0.01, 1.0, 30.0}) {
      const auto words = random_vectors(kWords, 4, norm, 11);
      std::vector<double> count(kWords, 0.0), bias(kWords), nats, biased;
      for (double& b : bias) b = static_cast<double>(random() % 1000) / 200;
      for (int n = 0; n < 200; ++n) {
        const auto y = static_cast<size_t>(random() % (1 + random() % kWords));
        const Vector<double>& h = words[y];  // the best context there is: S_y = 1
        std::vector<double> s;
        for (const auto& w : words) s.push_back(score_of(score, w, h));
        nats.push_back(-std::log(softmax(s).p[y]));
        for (size_t v = 0; v < s.size(); ++v) s[v] += bias[v];
        biased.push_back(-std::log(softmax(s).p[y]));
        count[y] += 1;
      }
      double unigram = 0, mean = 0, mean_biased = 0;
      for (const double c : count) unigram -= c > 0 ? c / 200 * std::log(c / 200) : 0;
      for (size_t n = 0; n < nats.size(); ++n) {
        mean += nats[n] / 200;
        mean_biased += biased[n] / 200;
        CHECK(std::exp(nats[n]) >= (1 + (kWords - 1) * std::exp(least - 1)) * (1 - 1e-12));
      }
      CHECK(mean_biased >= unigram + least - 1 - 1e-12);
    }
  }
}

TEST_CASE("scores: parameters out of their range are named") {
  const auto complaint = [](const auto* kernel, std::array<double, kMaxScoreParameters> parameters,
                            int64_t d) {
    using K = std::remove_cv_t<std::remove_pointer_t<decltype(kernel)>>;
    return K::check(Score{K::kKind, parameters}, d);
  };
  const scores::Log* log = nullptr;
  const scores::Pow* pow = nullptr;
  const scores::Pol* pol = nullptr;
  const scores::Rbf* rbf = nullptr;
  const scores::Ssg* ssg = nullptr;
  const scores::Mog* mog = nullptr;
  const scores::Hpb* hpb = nullptr;
  const scores::Wav* wav = nullptr;
  CHECK(complaint(log, {0}, 4) == "p must be > 0");
  CHECK(complaint(pow, {-1}, 4) == "p must be > 0");
  CHECK(complaint(pow, {0.5}, 4).empty());
  for (const double p : {0.0, -2.0, 2.5, 1e6, static_cast<double>(NAN)})
    CHECK(complaint(pol, {1, 1, p}, 4).starts_with("p must be an integer"));
  CHECK(complaint(rbf, {0}, 4) == "gamma must be > 0");
  CHECK(complaint(ssg, {0, 1}, 1).starts_with("variance=split"));
  CHECK(complaint(ssg, {0, 0.01}, 2).empty());
  CHECK(complaint(ssg, {0.5, 1}, 1).empty());
  CHECK(complaint(ssg, {-0.5, 1}, 4).starts_with("variance"));
  for (const double pace : {0.0, -1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    CHECK(complaint(ssg, {0, pace}, 4) == "pace must be > 0");
  CHECK(complaint(ssg, {0.5, 2}, 4) == "pace is for variance=split");
  CHECK(complaint(mog, {3, 0, 0, 1}, 8).find("multiple of components") != std::string::npos);
  CHECK(complaint(mog, {4, 0, 0, 1}, 4).find("2 numbers or more") != std::string::npos);
  CHECK(complaint(mog, {1.5, 0, 0, 1}, 8).starts_with("components"));
  CHECK(complaint(mog, {4, 0, 0, 1}, 8).empty());
  CHECK(complaint(mog, {4, 0, 0, 0}, 8) == "pace must be > 0");
  CHECK(complaint(hpb, {3, -2}, 1).starts_with("ball=sigmoid"));
  CHECK(complaint(hpb, {0, 1}, 4).starts_with("shift"));
  CHECK(complaint(hpb, {3, 1}, 4).empty());
  CHECK(complaint(wav, {0, 1}, 4) == "a must not be 0");
  CHECK(complaint(wav, {1, 0}, 4) == "b must be > 0");
}

}  // namespace nine::tests::test_scores
