// The log sum of exponentials, held as the largest term and a sum relative to it, so that no
// exponential overflows. The head, decoding and attention share it, on the CPU and with CUDA.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/vmath.h"

namespace nine {

/// exp and log as series that loops vectorise (core/vmath.h).
struct SeriesMath {
  template <class T>
  NINE_HD static T exp(T x) {
    return vexp(x);
  }
  template <class T>
  NINE_HD static T log(T x) {
    return vlog(x);
  }
};
/// exp and log of the C library.
struct LibraryMath {
  template <class T>
  NINE_HD static T exp(T x) {
    return std::exp(x);
  }
  template <class T>
  NINE_HD static T log(T x) {
    return std::log(x);
  }
};

/// A running log sum of exponentials: log sum_i e^(x_i) = top + log(sum), with sum = sum_i e^(x_i -
/// top) in the type Sum. A term of -infinity adds nothing; a NaN stays a NaN.
template <class T, class Sum = T, class Math = SeriesMath>
struct RunningLogSumExp {
  // lowest(), not -infinity: a term of -infinity would give e^(-infinity - -infinity), a NaN.
  T top = std::numeric_limits<T>::lowest();
  Sum sum = 0;

  /// Adds a term.
  NINE_HD void add(T x) {
    // One exponential is enough, because the exponential of the larger of x and top is 1.
    const bool higher = x > top;
    const Sum e = static_cast<Sum>(Math::exp(higher ? top - x : x - top));
    sum = sum * (higher ? e : Sum(1)) + (higher ? Sum(1) : e);
    top = higher ? x : top;
  }
  /// Adds the terms of another running sum.
  NINE_HD void merge(const RunningLogSumExp& other) {
    if (other.sum == Sum(0)) return;
    const T high = other.top > top ? other.top : top;
    sum = sum * static_cast<Sum>(Math::exp(top - high)) +
          other.sum * static_cast<Sum>(Math::exp(other.top - high));
    top = high;
  }
  /// Raises top to x at least. Returns the factor that this scales the sum by.
  NINE_HD T raise(T x) {
    const T high = x > top ? x : top, factor = Math::exp(top - high);
    sum *= static_cast<Sum>(factor);
    top = high;
    return factor;
  }

  /// Two passes for terms that can be read twice: cover() all terms, then add_covered() each. The
  /// second pass takes one exponential a term and no branch.
  NINE_HD void cover(T x) { top = x > top ? x : top; }
  NINE_HD void add_covered(T x) { sum += static_cast<Sum>(Math::exp(x - top)); }
  /// Make the two passes over running sums instead of terms.
  template <class U, class Other>
  NINE_HD void cover(const RunningLogSumExp<U, Sum, Other>& part) {
    cover(static_cast<T>(part.top));
  }
  template <class U, class Other>
  NINE_HD void add_covered(const RunningLogSumExp<U, Sum, Other>& part) {
    if (part.sum != Sum(0)) sum += part.sum * Math::exp(static_cast<T>(part.top) - top);
  }
  /// Returns the running sum of x(0) ... x(n - 1), which are terms or running sums.
  template <class F>
  NINE_HD static RunningLogSumExp of(int64_t n, F&& x) {
    RunningLogSumExp all;
    for (int64_t i = 0; i < n; ++i) all.cover(x(i));
    for (int64_t i = 0; i < n; ++i) all.add_covered(x(i));
    return all;
  }

  /// Returns the log sum of exponentials; -infinity without terms, or if all terms are -infinity.
  NINE_HD Sum value() const { return static_cast<Sum>(top) + Math::log(sum); }
};

/// A running sum in double, to the C library's last digit, for sums over few terms.
using LogSumExp = RunningLogSumExp<double, double, LibraryMath>;

/// kLanes running sums side by side, in loops that vectorise. x holds a term of each lane.
template <class T, int64_t kLanes, class Sum = T>
struct LogSumExpLanes {
  T top[kLanes];
  Sum sum[kLanes];

  void clear() {
    std::fill_n(top, kLanes, RunningLogSumExp<T, Sum>{}.top);
    std::fill_n(sum, kLanes, Sum(0));
  }
  RunningLogSumExp<T, Sum> lane(int64_t r) const { return {top[r], sum[r]}; }

  /// Adds a term to each of the first n lanes.
  void add(const T* x, int64_t n) {
    for (int64_t r = 0; r < n; ++r) {
      RunningLogSumExp<T, Sum> one = lane(r);
      one.add(x[r]);
      top[r] = one.top;
      sum[r] = one.sum;
    }
  }
  /// Adds n terms to each lane, x [term][kLanes]. The terms are summed in T before they are added
  /// to `sum`.
  void add_terms(const T* x, int64_t n) {
    T high[kLanes], part[kLanes] = {};
    std::copy_n(top, kLanes, high);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < kLanes; ++r)
        high[r] = x[i * kLanes + r] > high[r] ? x[i * kLanes + r] : high[r];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < kLanes; ++r) part[r] += vexp(x[i * kLanes + r] - high[r]);
    for (int64_t r = 0; r < kLanes; ++r) {
      sum[r] = sum[r] * static_cast<Sum>(vexp(top[r] - high[r])) + static_cast<Sum>(part[r]);
      top[r] = high[r];
    }
  }

  /// Do the same as RunningLogSumExp's functions of these names, lane by lane. raise() takes n
  /// terms of each lane, x [term][kLanes].
  void raise(const T* x, int64_t n) {
    for (int64_t r = 0; r < kLanes; ++r) {
      T high = top[r];
      for (int64_t i = 0; i < n; ++i) high = x[i * kLanes + r] > high ? x[i * kLanes + r] : high;
      sum[r] *= vexp(top[r] - high);
      top[r] = high;
    }
  }
  void cover(const T* x) {
    for (int64_t r = 0; r < kLanes; ++r) top[r] = x[r] > top[r] ? x[r] : top[r];
  }
  void add_covered(const T* x) {
    for (int64_t r = 0; r < kLanes; ++r) sum[r] += vexp(x[r] - top[r]);
  }
  void values(T* out) const {
    for (int64_t r = 0; r < kLanes; ++r) out[r] = top[r] + vlog(sum[r]);
  }
};

}  // namespace nine
