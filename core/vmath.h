// exp, log, tanh and similar functions as arithmetic without branches, so that compilers turn loops
// over them into SIMD code. CUDA uses the same source.
//
// Each function is a template over float and double. It is accurate to a few units in the last
// place over its whole range (tests/core/test_vmath.cpp compares it with the C library), and
// returns NaN for NaN. The coefficients are those of plain series. After reduction to |r| <= ln2/2,
// few terms of the Taylor series of the exponential suffice. log m = 2 atanh((m-1)/(m+1)) converges
// quickly for m in [sqrt(1/2), sqrt(2)]. The normal distribution has an interpolated polynomial.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/random.h"  // NINE_HD

namespace nine {

/// The constants of the format T and of its series; for float and double.
template <class T>
struct FloatTraits;
template <>
struct FloatTraits<float> {
  using Int = int32_t;
  static constexpr int kMantissa = 23, kBias = 127;
  // Beyond these limits 2^n is not a normal number.
  static constexpr float kMaxExp = 88.37f, kMinExp = -87.33654f;
  static constexpr float kLn2Hi = 0.693359375f, kLn2Lo = -2.12194440e-4f;
  static constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr int kExpTerms = 7, kLogTerms = 5, kSinTerms = 5;
  // pi/2 in parts of few bits, so that n times the first part is exact for n < 2^16.
  static constexpr float kHalfPi[3] = {1.5703125f, 4.837512969970703125e-4f, 7.5497894159e-8f};
  static constexpr float kMaxAngle = 4194304.0f;
};
template <>
struct FloatTraits<double> {
  using Int = int64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kMaxExp = 709.43, kMinExp = -708.3964185322641;
  static constexpr double kLn2Hi = 6.93147180369123816490e-01, kLn2Lo = 1.90821492927058770002e-10;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kExpTerms = 13, kLogTerms = 11, kSinTerms = 8;
  static constexpr double kHalfPi[3] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                        2.02226624879595063154e-21};
  static constexpr double kMaxAngle = 2251799813685248.0;
};

namespace vmath_detail {

/// Returns 1/0!, 1/1!, ..., 1/n! as an array, because compilers do not always evaluate a function
/// call inside of a series' loop at compile time.
template <class T, int n>
constexpr std::array<T, n + 1> inverse_factorials() {
  std::array<T, n + 1> c{T(1)};
  double last = 1;
  for (int k = 1; k <= n; ++k) c[k] = static_cast<T>(last /= k);
  return c;
}

/// Computes e^r - 1 for |r| up to little more than ln2/2: r + r^2/2! + ..., by Horner's rule.
template <class T>
NINE_HD inline T expm1_series(T r) {
  constexpr int n = FloatTraits<T>::kExpTerms;
  constexpr auto c = inverse_factorials<T, n>();
  T p = c[n];
#pragma GCC unroll 16
  for (int k = n - 1; k >= 1; --k) p = p * r + c[k];
  return p * r;
}

/// The parts of x = n ln2 + r with |r| <= ln2/2: r and scale = 2^n.
template <class T>
struct Reduced {
  T r, scale;
};
template <class T>
NINE_HD inline Reduced<T> reduce(T x) {
  using F = FloatTraits<T>;
  using Int = typename F::Int;
  const T shifted = x * T(1.4426950408889634074) + F::kRound;
  const T n = shifted - F::kRound;
  const T r = (x - n * F::kLn2Hi) - n * F::kLn2Lo;
  // The low bits of `shifted` are n in two's complement.
  const Int bits = std::bit_cast<Int>(shifted);
  const auto scale_bits = static_cast<std::make_unsigned_t<Int>>(bits + F::kBias) << F::kMantissa;
  return {r, std::bit_cast<T>(scale_bits)};
}

/// Computes log m = 2 atanh(f / (2 + f)) for f = m - 1, m within [sqrt(1/2), sqrt(2)].
template <class T>
NINE_HD inline T log1p_series(T f) {
  constexpr int n = FloatTraits<T>::kLogTerms;
  const T s = f / (T(2) + f), s2 = s * s;
  T p = T(1) / T(2 * n - 1);
#pragma GCC unroll 16
  for (int k = n - 1; k >= 1; --k) p = p * s2 + T(1) / T(2 * k - 1);
  return T(2) * s * p;
}

/// Returns the number that corrects the series of a logarithm, which holds within (0, infinity)
/// only: 0 there, -infinity for x = 0, infinity for infinity, NaN otherwise.
template <class T>
NINE_HD inline T log_outside(T x) {
  using L = std::numeric_limits<T>;
  const T below = x == T(0) ? -L::infinity() : L::quiet_NaN();
  return x > T(0) ? (x < L::infinity() ? T(0) : L::infinity()) : below;
}

/// The parts of x = 2^exponent m with m within [sqrt(1/2), sqrt(2)), for normal x > 0.
template <class T>
struct Split {
  typename FloatTraits<T>::Int exponent;
  T m;
};
template <class T>
NINE_HD inline Split<T> split(T x) {
  using F = FloatTraits<T>;
  using Int = typename F::Int;
  const Int bits = std::bit_cast<Int>(x);
  // Shift the exponent's origin so that the mantissa falls into [sqrt(1/2), sqrt(2)).
  const Int half = std::bit_cast<Int>(T(0.70710678118654752440));
  const Int e = (bits - half) >> F::kMantissa;
  return {e, std::bit_cast<T>(static_cast<Int>(bits - (e << F::kMantissa)))};
}

/// The coefficients of a polynomial P with (1 + 2t) erfcx(t) = P((x - 5) / (x + 5)), x = t sqrt(2),
/// where erfcx(t) = e^(t^2) erfc(t): the lowest power first. This change of variables takes all
/// x >= 0 into [-1, 1), where the left side lies between 1 and 1.13 (after Shepherd & Laframboise,
/// 1981). Interpolated at Chebyshev's points with 40 digits, for the x with e^(-x^2/2) > 0:
/// P's error is below 4e-9 for float and 2e-17 for double.
template <class T>
constexpr auto erfcx_coefficients() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return std::array<T, 11>{1.24164185f,     -1.4010483e-1f,  -8.38713194e-3f, 9.52975079e-2f,
                             -1.1432412e-1f,  8.87923171e-2f,  -5.03141259e-2f, 2.04722322e-2f,
                             -5.02856568e-3f, -2.76266447e-4f, 5.93056564e-4f};
  } else {
    return std::array<T, 23>{1.2416418529896745,     -1.4010482724123535e-1, -8.3874163565655824e-3,
                             9.5297322677834112e-2,  -1.1431809794396703e-1, 8.8797722659476069e-2,
                             -5.0357109670530704e-2, 2.0417702756681313e-2,  -4.9225302827981625e-3,
                             -8.9200366120354927e-5, 5.6577877549913939e-4,  -1.5242272232431519e-4,
                             -3.3495854917459188e-5, 2.6680910475575492e-5,  3.6414028048840163e-7,
                             -3.9065095077717285e-6, 2.8906631448389744e-7,  5.9488185255667579e-7,
                             -5.3242774197451077e-8, -9.5339428189018383e-8, -3.84082061867324e-10,
                             1.1886770516269567e-8,  2.3583407948063742e-9};
  }
}

/// Returns x limited to [low, high]; NaN stays NaN.
template <class T>
NINE_HD inline T clamp(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

}  // namespace vmath_detail

/// Computes e^x. The result is infinity above FloatTraits::kMaxExp (a little before e^x overflows),
/// and 0 below kMinExp (no subnormal results).
template <class T>
NINE_HD inline T vexp(T x) {
  using F = FloatTraits<T>;
  const auto [r, scale] = vmath_detail::reduce(vmath_detail::clamp(x, F::kMinExp, F::kMaxExp));
  // The factor is chosen among constants. If the result itself were chosen, the compiler would move
  // the series into a branch and not vectorise the loop.
  const T outside = x > F::kMaxExp   ? std::numeric_limits<T>::infinity()
                    : x < F::kMinExp ? T(0)
                                     : T(1);
  return (scale + scale * vmath_detail::expm1_series(r)) * outside;
}

/// Computes e^x - 1, accurate near 0; infinity above kMaxExp.
template <class T>
NINE_HD inline T vexpm1(T x) {
  using F = FloatTraits<T>;
  const auto [r, scale] = vmath_detail::reduce(vmath_detail::clamp(x, F::kMinExp, F::kMaxExp));
  return (scale - T(1)) + scale * vmath_detail::expm1_series(r) +
         (x > F::kMaxExp ? std::numeric_limits<T>::infinity() : T(0));
}

/// Computes log(x) for a positive normal number.
template <class T>
NINE_HD inline T vlog_normal(T x) {
  using F = FloatTraits<T>;
  const auto [e, m] = vmath_detail::split(x);
  const T n = static_cast<T>(e);
  return n * F::kLn2Hi + (n * F::kLn2Lo + vmath_detail::log1p_series(m - T(1)));
}

/// Computes log(x): -infinity at 0, NaN below 0. Subnormal numbers count as the smallest normal
/// number.
template <class T>
NINE_HD inline T vlog(T x) {
  return vlog_normal(x < std::numeric_limits<T>::min() ? std::numeric_limits<T>::min() : x) +
         vmath_detail::log_outside(x);
}

/// Computes log(1 + x), accurate near 0: -infinity at -1, NaN below -1.
template <class T>
NINE_HD inline T vlog1p(T x) {
  using F = FloatTraits<T>;
  using Int = typename F::Int;
  const T u = T(1) + x,
          whole = u < std::numeric_limits<T>::max() ? u : std::numeric_limits<T>::max();
  // The rounding error of u = 1 + x.
  const T lost = x < std::numeric_limits<T>::max() ? x - (whole - T(1)) : T(0);
  const auto [e, m] = vmath_detail::split(
      whole < std::numeric_limits<T>::min() ? std::numeric_limits<T>::min() : whole);
  // `lost` is negligible for u so large that 2^-e is not a normal number.
  const Int down = F::kBias - (e < F::kMantissa + 2 ? e : F::kMantissa + 2);
  const T n = static_cast<T>(e), scale = std::bit_cast<T>(static_cast<Int>(down << F::kMantissa));
  return n * F::kLn2Hi + (n * F::kLn2Lo + vmath_detail::log1p_series((m - T(1)) + lost * scale)) +
         vmath_detail::log_outside(u);
}

/// Computes log(1 + x) for x in [0, 1], in half the time of vlog1p().
template <class T>
NINE_HD inline T vlog1p_unit(T x) {
  // For x > sqrt(2) - 1, 1 + x = 2 (1 + (x - 1) / 2): `half` is a factor, not a branch, as in vexp.
  const T half = x > T(0.41421356237309505) ? T(1) : T(0);
  return half * FloatTraits<T>::kLn2Hi +
         (half * FloatTraits<T>::kLn2Lo +
          vmath_detail::log1p_series((x - half) * (T(1) - T(0.5) * half)));
}

/// Computes log(1 + e^x) = -log sigmoid(-x).
template <class T>
NINE_HD inline T vsoftplus(T x) {
  const T size = x < T(0) ? -x : x;
  return (x > T(0) ? x : T(0)) + vlog1p_unit(vexp(-size));
}

/// Computes 1 / (1 + e^-x).
template <class T>
NINE_HD inline T vsigmoid(T x) {
  return T(1) / (T(1) + vexp(-x));
}

/// Computes tanh(x) = (e^2x - 1) / (e^2x + 1).
template <class T>
NINE_HD inline T vtanh(T x) {
  const T e = vexpm1(T(2) * vmath_detail::clamp(x, T(-20), T(20)));
  return e / (e + T(2));
}

/// The normal distribution N(0, 1) at x.
template <class T>
struct Normal {
  T below;    ///< Phi(x), the probability of a number below x
  T density;  ///< phi(x) = e^(-x^2/2) / sqrt(2 pi)
};
/// Computes Phi and phi at x. Phi(-|x|) = e^(-x^2/2) erfcx(|x| / sqrt(2)) / 2 has positive factors
/// only, so no digits cancel for x < 0, unlike in (1 + erf(x / sqrt(2))) / 2. `below` is within 7
/// units in the last place for x >= 0. For x < 0 the rounding of x^2 / 2 adds up to x^2 / 2 units
/// (18 at -6). It adds as many to `density` for every x. Results below the smallest normal number
/// may be 0. The product x Phi(x) is as exact as `below`.
template <class T>
NINE_HD inline Normal<T> vnormal(T x) {
  constexpr auto c = vmath_detail::erfcx_coefficients<T>();
  const T distance = x < T(0) ? -x : x, size = distance > T(40) ? T(40) : distance;  // e^-800 is 0
  const T e = vexp(T(-0.5) * (size * size)), u = (size - T(5)) / (size + T(5));
  constexpr int n = static_cast<int>(c.size()) - 1;
  T p = c[n];
#pragma GCC unroll 32
  for (int k = n - 1; k >= 0; --k) p = p * u + c[k];
  const T tail = T(0.5) * e * (p / (T(1) + T(1.4142135623730950488) * size));
  // Factors, not branches, as in vexp.
  const T above = x > T(0) ? T(1) : T(0);
  return {above + (T(1) - T(2) * above) * tail, T(0.39894228040143267794) * e};
}

template <class T>
struct SinCos {
  T sin, cos;
};
/// Computes sine and cosine. The error is at most 2 units in the last place of 1 up to |x| = 8,000
/// (float) or 1e6 (double). Beyond, it grows in proportion to the distance between neighbouring
/// numbers x. From kMaxAngle on, where this distance exceeds 1/2, the result is that of kMaxAngle.
template <class T>
NINE_HD inline SinCos<T> vsincos(T x) {
  using F = FloatTraits<T>;
  using Int = typename F::Int;
  x = vmath_detail::clamp(x, -F::kMaxAngle, F::kMaxAngle);
  const T shifted = x * T(0.63661977236758134308) + F::kRound, n = shifted - F::kRound;
  const T r = ((x - n * F::kHalfPi[0]) - n * F::kHalfPi[1]) - n * F::kHalfPi[2];
  const T within = vmath_detail::clamp(r, T(-0.8), T(0.8)), r2 = within * within;
  constexpr auto over = vmath_detail::inverse_factorials<T, 2 * F::kSinTerms + 1>();
  T s = 0, c = 0;  // sin r / r - 1 and cos r - 1 over r^2
#pragma GCC unroll 16
  for (int k = F::kSinTerms; k >= 1; --k) {
    s = s * r2 + (k % 2 == 1 ? -over[2 * k + 1] : over[2 * k + 1]);
    c = c * r2 + (k % 2 == 1 ? -over[2 * k] : over[2 * k]);
  }
  const T sine = within + within * (r2 * s), cosine = T(1) + r2 * c;
  const Int quarter = std::bit_cast<Int>(shifted);  // n's low bits, in two's complement
  // Factors, not branches, as in vexp.
  const T swap = static_cast<T>(quarter & 1), keep = T(1) - swap;
  return {(keep * sine + swap * cosine) * static_cast<T>(1 - (quarter & 2)),
          (keep * cosine + swap * sine) * static_cast<T>(1 - ((quarter + 1) & 2))};
}
/// Returns `value` if |x| <= kMaxAngle, else NaN: neighbouring angles are then too far apart.
template <class T>
NINE_HD inline T of_angle(T x, T value) {
  return vmath_detail::clamp(x, -FloatTraits<T>::kMaxAngle, FloatTraits<T>::kMaxAngle) == x
             ? value
             : std::numeric_limits<T>::quiet_NaN();
}
template <class T>
NINE_HD inline T vsin(T x) {
  return of_angle(x, vsincos(x).sin);
}
template <class T>
NINE_HD inline T vcos(T x) {
  return of_angle(x, vsincos(x).cos);
}

}  // namespace nine
