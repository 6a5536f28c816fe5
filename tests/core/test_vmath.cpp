// The vector functions against the C library in long double, and that an element's bits do not
// depend on its place.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/elementwise.h"
#include "core/ops.h"
#include "core/vmath.h"

namespace nine::tests::test_vmath {
namespace {

// Loops as the ops have them, so that the compiled body is the SIMD one.
template <class T>
using Loop = void (*)(const T*, T*, size_t);
template <class T, T (*f)(T)>
[[gnu::noinline]] void loop(const T* x, T* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

// |y - exact| in units of exact's last place (of the smallest normal number below it).
template <class T>
double ulps(T y, long double exact) {
  if (std::isnan(y) || std::isnan(exact)) return std::isnan(y) && std::isnan(exact) ? 0 : HUGE_VAL;
  if (static_cast<long double>(y) == exact) return 0;
  if (std::isinf(y) || std::isinf(exact)) return HUGE_VAL;
  int e = 0;
  std::frexp(exact, &e);
  const int lowest = std::numeric_limits<T>::min_exponent;
  return static_cast<double>(
      std::abs(static_cast<long double>(y) - exact) /
      std::ldexp(1.0L, std::max(e, lowest) - std::numeric_limits<T>::digits));
}

template <class T>
struct Function {
  const char* name;
  Loop<T> run;
  long double (*exact)(long double);
  double limit;  // units in the last place
};

template <class T>
std::vector<Function<T>> functions() {
  return {
      {"exp", loop<T, vexp<T>>, [](long double x) { return std::exp(x); }, 1.5},
      {"expm1", loop<T, vexpm1<T>>, [](long double x) { return std::expm1(x); }, 3},
      {"log", loop<T, vlog<T>>, [](long double x) { return std::log(x); }, 3.5},
      {"sigmoid", loop<T, vsigmoid<T>>, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3.5},
      {"tanh", loop<T, vtanh<T>>, [](long double x) { return std::tanh(x); }, 4},
      {"log1p", loop<T, vlog1p<T>>, [](long double x) { return std::log1p(x); }, 3.5},
      {"log1p_unit", loop<T, vlog1p_unit<T>>, [](long double x) { return std::log1p(x); }, 3.5},
      {"softplus", loop<T, vsoftplus<T>>,
       [](long double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
       3.5}};
}

// Where a function is wanted: evenly over its range, evenly around 0, and over all magnitudes.
template <class T>
std::vector<T> points(const std::string& name) {
  using F = FloatTraits<T>;
  constexpr int kPoints = 100003;
  std::vector<T> x;
  const double top = static_cast<double>(F::kMaxExp), low = static_cast<double>(F::kMinExp);
  for (int i = 0; i < kPoints; ++i) {
    const double u = (i + 0.5) / kPoints,
                 magnitude = std::exp(std::log(1e-300) + u * (std::log(1e300) - std::log(1e-300)));
    if (name == "log") {
      const double shortest = static_cast<double>(std::numeric_limits<T>::min()),
                   longest = static_cast<double>(std::numeric_limits<T>::max());
      x.push_back(static_cast<T>(std::exp(std::log(shortest) * (1 - u) + std::log(longest) * u) *
                                 (1 + 1e-9)));
      x.push_back(static_cast<T>(0.5 + 1.5 * u));
      continue;
    }
    if (name == "log1p_unit") {
      x.push_back(static_cast<T>(u));
      x.push_back(static_cast<T>(std::exp(-80 * u)));
      continue;
    }
    if (name == "log1p") {
      x.push_back(static_cast<T>(std::exp(u * (top - 1))));
      x.push_back(static_cast<T>(2 * u - 1));
      x.push_back(static_cast<T>(-std::exp(-60 * u)));
    }
    const double from = name == "sigmoid" ? -top : name == "log1p" ? -1 : low;
    x.push_back(static_cast<T>(from + (top - from) * u));
    x.push_back(static_cast<T>(2 * u - 1));
    if (sizeof(T) == 8 ? magnitude < 30 : magnitude > 1e-37 && magnitude < 30) {
      x.push_back(static_cast<T>(magnitude));
      x.push_back(static_cast<T>(-magnitude));
    }
  }
  return x;
}

template <class T>
void check_accuracy() {
  for (const Function<T>& f : functions<T>()) {
    const std::vector<T> x = points<T>(f.name);
    std::vector<T> y(x.size());
    f.run(x.data(), y.data(), x.size());
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double off = ulps(y[i], f.exact(static_cast<long double>(x[i])));
      if (off > worst) {
        worst = off;
        at = x[i];
      }
    }
    CHECK_MESSAGE(worst <= f.limit, f.name, " of ", sizeof(T) * 8, " bits is off by ", worst,
                  " units in the last place at ", at);
  }
}

template <class T>
void check_edges() {
  using F = FloatTraits<T>;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN(), tiny = L::denorm_min(), least = L::min(),
          most = L::max();
  for (const Function<T>& f : functions<T>()) {
    CAPTURE(f.name);
    T y = 0;
    for (const T x : {nan, -nan}) {
      f.run(&x, &y, 1);
      CHECK(std::isnan(y));
    }
  }
  CHECK(vexp(T(0)) == 1);
  CHECK(vexp(-T(0)) == 1);
  CHECK(vexp(inf) == inf);
  CHECK(vexp(most) == inf);
  CHECK(vexp(-inf) == 0);
  CHECK(vexp(-most) == 0);
  CHECK(vexp(tiny) == 1);
  CHECK(std::isfinite(vexp(F::kMaxExp)));
  CHECK(vexp(std::nextafter(F::kMaxExp, inf)) == inf);
  CHECK(vexp(F::kMinExp) >= least);
  CHECK(vexp(std::nextafter(F::kMinExp, -inf)) == 0);

  CHECK(vexpm1(T(0)) == 0);
  CHECK(vexpm1(least) == least);
  CHECK(vexpm1(inf) == inf);
  CHECK(vexpm1(most) == inf);
  CHECK(vexpm1(-inf) == -1);
  CHECK(vexpm1(-most) == -1);

  CHECK(vlog(T(1)) == 0);
  CHECK(vlog(T(0)) == -inf);
  CHECK(vlog(-T(0)) == -inf);
  CHECK(vlog(inf) == inf);
  for (const T x : {T(-1), -tiny, -most, -inf}) CHECK(std::isnan(vlog(x)));
  CHECK(vlog(tiny) ==
        vlog(least));  // documented: subnormal numbers count as the smallest normal one
  CHECK(std::isfinite(vlog(most)));

  CHECK(vlog1p(T(0)) == 0);
  CHECK(vlog1p(least) == least);
  CHECK(vlog1p(T(-1)) == -inf);
  CHECK(vlog1p(inf) == inf);
  CHECK(std::isfinite(vlog1p(most)));
  CHECK(std::isnan(vlog1p(T(-1.5))));

  CHECK(vsoftplus(inf) == inf);
  CHECK(vsoftplus(most) == most);
  CHECK(vsoftplus(-inf) == 0);
  CHECK(vsoftplus(-most) == 0);

  CHECK(vsigmoid(T(0)) == T(0.5));
  CHECK(vsigmoid(inf) == 1);
  CHECK(vsigmoid(most) == 1);
  CHECK(vsigmoid(-inf) == 0);
  CHECK(vsigmoid(-most) == 0);

  CHECK(vtanh(T(0)) == 0);
  CHECK(vtanh(least) == least);
  for (const T x : {T(20), T(50), most, inf}) {
    CHECK(vtanh(x) == 1);
    CHECK(vtanh(-x) == -1);
  }
}

// Sine and cosine, in units of 1's last place.
template <class T>
void check_angles() {
  constexpr int kPoints = 200003;
  const double far = sizeof(T) == 4 ? 8000 : 1e6;
  std::vector<T> x;
  for (int i = 0; i < kPoints; ++i) {
    const double u = 2 * (i + 0.5) / kPoints - 1;
    for (const double scale : {1.0, 10.0, 300.0, far}) x.push_back(static_cast<T>(scale * u));
  }
  std::vector<T> sines(x.size()), cosines(x.size());
  loop<T, vsin<T>>(x.data(), sines.data(), x.size());
  loop<T, vcos<T>>(x.data(), cosines.data(), x.size());
  long double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto angle = static_cast<long double>(x[i]);
    worst = std::max(
        {worst, std::abs(sines[i] - std::sin(angle)), std::abs(cosines[i] - std::cos(angle))});
  }
  CHECK_MESSAGE(worst <= 2.0L * static_cast<long double>(std::numeric_limits<T>::epsilon()),
                "sin, cos of ", sizeof(T) * 8, " bits are off by ", static_cast<double>(worst));
  CHECK(vsin(T(0)) == 0);
  CHECK(vcos(T(0)) == 1);
  CHECK(std::isnan(vsin(std::numeric_limits<T>::quiet_NaN())));
  // Angles that are too large are no ordinary number.
  CHECK(std::abs(vsin(FloatTraits<T>::kMaxAngle)) <= 1);
  for (const T beyond : {2 * FloatTraits<T>::kMaxAngle, T(1e30), std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::infinity()}) {
    CHECK(std::isnan(vsin(beyond)));
    CHECK(std::isnan(vcos(-beyond)));
    CHECK(std::abs(vsincos(beyond).sin) <= T(1.0001));
  }
}

template <class T>
T normal_below(T x) {
  return vnormal(x).below;
}
template <class T>
T normal_density(T x) {
  return vnormal(x).density;
}
template <class T>
T gelu(T x) {
  return ops::gelu_value(x);
}
template <class T>
T gelu_tanh(T x) {
  return ops::gelu_tanh_value(x);
}
template <class T>
T gelu_derivative(T x) {
  return ops::gelu_slope(x);
}
template <class T>
T gelu_tanh_derivative(T x) {
  return ops::gelu_tanh_slope(x);
}

long double exact_below(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double exact_density(long double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
}
// z of gelu_tanh, and dz/dx.
constexpr long double kCube = 0.044715L;
long double exact_bend(long double x) {
  return std::sqrt(2 / std::acos(-1.0L)) * (x + kCube * x * x * x);
}
long double exact_bend_slope(long double x) {
  return std::sqrt(2 / std::acos(-1.0L)) * (1 + 3 * kCube * x * x);
}
long double exact_share(long double x) { return 1 / (1 + std::exp(-2 * exact_bend(x))); }

template <class T>
void check_normal() {
  const std::vector<T> x = [] {
    constexpr int kPoints = 200003;
    std::vector<T> points;
    const double far = sizeof(T) == 8 ? 37.5 : 12.5;
    for (int i = 0; i < kPoints; ++i) {
      const double u = 2 * (i + 0.5) / kPoints - 1;
      for (const double scale : {0.01, 1.0, 4.0, far}) points.push_back(static_cast<T>(scale * u));
      points.push_back(static_cast<T>(std::copysign(std::exp(-60 * std::abs(u)), u)));
    }
    return points;
  }();
  // Where e^-s leaves the normal numbers, results may be 0.
  const long double smallest = 1e4L * std::numeric_limits<T>::min();
  // Errors in units of the last place. e^-s adds up to s of them for each rounding of s: one of
  // s = x^2 / 2 for the normal distribution, and three of s = 2 |z| for gelu_tanh where z < 0.
  const auto check = [&](const std::string& name, Loop<T> run, auto exact, double limit,
                         auto growth) {
    std::vector<T> y(x.size());
    run(x.data(), y.data(), x.size());
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto point = static_cast<long double>(x[i]);
      if (std::abs(exact(point)) < smallest) continue;
      const double off =
          ulps(y[i], exact(point)) - static_cast<double>(growth(static_cast<double>(x[i])));
      if (off > worst) {
        worst = off;
        at = x[i];
      }
    }
    CHECK_MESSAGE(worst <= limit, name, " of ", sizeof(T) * 8, " bits is off by ", worst,
                  " units in the last place more than the argument's rounding at ", at);
  };
  const auto square = [](double v) { return v * v / 2; };
  const auto below = [](double v) { return v < 0 ? v * v / 2 : 0; };
  const auto bend = [](double v) { return v < 0 ? -6 * static_cast<double>(exact_bend(v)) : 0; };
  check("normal.below", loop<T, normal_below<T>>, exact_below, 7, below);
  check("normal.density", loop<T, normal_density<T>>, exact_density, 3, square);
  check(
      "gelu", loop<T, gelu<T>>, [](long double v) { return v * exact_below(v); }, 7, below);
  check(
      "gelu_tanh", loop<T, gelu_tanh<T>>, [](long double v) { return v * exact_share(v); }, 4,
      bend);

  // Derivatives have zeros, so their errors are in units of 1's last place.
  const auto check_slope = [&](const std::string& name, Loop<T> run, auto exact) {
    std::vector<T> y(x.size());
    run(x.data(), y.data(), x.size());
    long double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(y[i] - exact(static_cast<long double>(x[i]))));
    CHECK_MESSAGE(worst <= 4.0L * static_cast<long double>(std::numeric_limits<T>::epsilon()), name,
                  " of ", sizeof(T) * 8, " bits is off by ", static_cast<double>(worst));
  };
  check_slope("gelu's derivative", loop<T, gelu_derivative<T>>,
              [](long double v) { return exact_below(v) + v * exact_density(v); });
  check_slope("gelu_tanh's derivative", loop<T, gelu_tanh_derivative<T>>, [](long double v) {
    const long double s = exact_share(v);
    return s + 2 * v * s * (1 - s) * exact_bend_slope(v);
  });

  using L = std::numeric_limits<T>;
  for (const T far : {T(40), T(1000), L::max(), L::infinity()}) {
    CHECK(vnormal(far).below == 1);
    CHECK(vnormal(-far).below == 0);
    CHECK(vnormal(far).density == 0);
    CHECK(vnormal(-far).density == 0);
  }
  CHECK(vnormal(T(0)).below == T(0.5));
  CHECK(std::isnan(vnormal(L::quiet_NaN()).below));
  CHECK(std::isnan(vnormal(L::quiet_NaN()).density));
}

// An element alone, at every place of short arrays and inside of a long one.
template <class T>
void check_places() {
  for (const Function<T>& f : functions<T>()) {
    CAPTURE(f.name);
    const std::vector<T> x = points<T>(f.name);
    std::vector<T> inside(x.size()), again(x.size());
    f.run(x.data(), inside.data(), x.size());
    int64_t differing = 0;
    for (size_t i = 0; i + 70 < x.size(); i += 101) {
      for (const size_t n :
           {size_t{1}, size_t{7}, size_t{8}, size_t{15}, size_t{17}, size_t{33}, size_t{70}}) {
        f.run(x.data() + i, again.data() + i, n);
        differing += std::memcmp(again.data() + i, inside.data() + i, n * sizeof(T)) != 0;
      }
    }
    CHECK(differing == 0);
  }
}

}  // namespace

TEST_CASE("vmath: within a few units in the last place") {
  check_accuracy<float>();
  check_accuracy<double>();
}

TEST_CASE("vmath: sine and cosine") {
  check_angles<float>();
  check_angles<double>();
}

TEST_CASE("vmath: the normal distribution, gelu and gelu_tanh" * doctest::test_suite("check")) {
  check_normal<float>();
  check_normal<double>();
}

TEST_CASE("vmath: edges") {
  check_edges<float>();
  check_edges<double>();
}

TEST_CASE("vmath: an element's bits do not depend on its place in a loop") {
  check_places<float>();
  check_places<double>();
}

TEST_CASE("vmath: the same holds for the ops as they were compiled") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    dispatch_float(dtype, "test", [&]<class T>(T) {
      const std::vector<T> x = points<T>("sigmoid"), positive = points<T>("log");
      for (const ops::Unary f : {ops::Unary::exp, ops::Unary::log, ops::Unary::tanh,
                                 ops::Unary::sigmoid, ops::Unary::sqrt, ops::Unary::abs,
                                 ops::Unary::gelu, ops::Unary::gelu_tanh, ops::Unary::silu}) {
        CAPTURE(static_cast<int>(f));
        const bool root = f == ops::Unary::log || f == ops::Unary::sqrt;
        std::vector<T> in(root ? positive : x), inside(in.size()), alone(in.size());
        in.resize(20000);
        ops::unary(f, View(in.data(), {20000}), {View(inside.data(), {20000})});
        int64_t differing = 0;
        for (size_t i = 0; i + 40 < in.size(); i += 37) {
          const int64_t n = 1 + static_cast<int64_t>(i % 37);
          ops::unary(f, View(in.data() + i, {n}), {View(alone.data() + i, {n})});
          differing += std::memcmp(alone.data() + i, inside.data() + i,
                                   static_cast<size_t>(n) * sizeof(T)) != 0;
        }
        CHECK(differing == 0);
      }
    });
  }
}

}  // namespace nine::tests::test_vmath
