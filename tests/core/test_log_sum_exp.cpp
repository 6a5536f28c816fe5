// The logarithm of a sum of exponentials, in every order that its callers add terms in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/log_sum_exp.h"

namespace nine::tests::test_log_sum_exp {
namespace {

template <class T>
std::vector<T> terms(int n, double shift) {
  std::vector<T> x;
  for (int i = 0; i < n; ++i) x.push_back(static_cast<T>(shift + 9 * std::sin(1.7 * i + shift)));
  return x;
}
template <class T>
double exact(const std::vector<T>& x) {
  const long double top = *std::max_element(x.begin(), x.end());
  long double sum = 0;
  for (const T v : x) sum += std::exp(static_cast<long double>(v) - top);
  return static_cast<double>(top + std::log(sum));
}
template <class T>
double near() {
  return sizeof(T) == 4 ? 1e-6 : 1e-14;
}

}  // namespace

TEST_CASE_TEMPLATE("log-sum-exp: term by term, after cover() and merged; no exponential overflows",
                   T, float, double) {
  for (const double shift : {0.0, 3e3, -3e3}) {
    const std::vector<T> x = terms<T>(37, shift);
    const auto of = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
    const double expected = exact(x), size = near<T>() * (1 + std::abs(expected));
    RunningLogSumExp<T> all, first, second;
    for (size_t i = 0; i < x.size(); ++i) {
      all.add(x[i]);
      (i < 11 ? first : second).add(x[i]);
    }
    CHECK(std::abs(all.value() - expected) <= size);
    CHECK(std::abs(RunningLogSumExp<T>::of(37, of).value() - expected) <= size);
    const RunningLogSumExp<T> parts[] = {first, {}, second};
    const auto part = [&](int64_t i) { return parts[i]; };
    CHECK(std::abs(RunningLogSumExp<T>::of(3, part).value() - expected) <= size);
    RunningLogSumExp<T> merged = parts[1];
    for (const auto& p : parts) merged.merge(p);
    CHECK(std::abs(merged.value() - expected) <= size);
    const T sum = first.sum, factor = first.raise(static_cast<T>(shift + 20));
    CHECK(first.top == static_cast<T>(shift + 20));
    CHECK(first.sum == sum * factor);
    CHECK(first.raise(0) == (shift < -20 ? T(0) : T(1)));
  }
}

TEST_CASE("log-sum-exp: terms of -infinity count nothing, a NaN stays, no terms are -infinity") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto sum = [](const std::vector<double>& x) {
    LogSumExp one_by_one;
    for (const double v : x) one_by_one.add(v);
    const double out = one_by_one.value(), again = LogSumExp::of(std::ssize(x), [&](int64_t i) {
                                                     return x[static_cast<size_t>(i)];
                                                   }).value();
    CHECK((out == again || (std::isnan(out) && std::isnan(again))));
    return out;
  };
  CHECK(sum({}) == -kInfinity);
  CHECK(sum({-kInfinity, -kInfinity}) == -kInfinity);
  CHECK(sum({-kInfinity, 2, -kInfinity}) == 2);
  CHECK(std::isnan(sum({1, std::nan(""), 2})));
  CHECK(std::isnan(sum({std::nan(""), 1})));
}

TEST_CASE_TEMPLATE("log-sum-exp lanes: each lane is a sum of its own", T, float, double) {
  constexpr int64_t kLanes = 8;
  constexpr int kTerms = 12;
  std::vector<T> x;  // [term][lane]
  for (int i = 0; i < kTerms; ++i)
    for (int r = 0; r < kLanes; ++r)
      x.push_back(r == 3 ? -std::numeric_limits<T>::infinity()
                         : static_cast<T>(40 * r + 5 * std::cos(i + r)));
  LogSumExpLanes<T, kLanes> one_by_one{}, raised{}, covered{};
  LogSumExpLanes<T, kLanes, double> tiles{};
  one_by_one.clear(), raised.clear(), covered.clear(), tiles.clear();
  for (int i = 0; i < kTerms; ++i) one_by_one.add(x.data() + i * kLanes, kLanes - 1);
  for (int i = 0; i < kTerms; i += 4) {
    raised.raise(x.data() + i * kLanes, 4);
    for (int j = i; j < i + 4; ++j) raised.add_covered(x.data() + j * kLanes);
    tiles.add_terms(x.data() + i * kLanes, 4);
  }
  for (int i = 0; i < kTerms; ++i) covered.cover(x.data() + i * kLanes);
  for (int i = 0; i < kTerms; ++i) covered.add_covered(x.data() + i * kLanes);
  T values[kLanes];
  covered.values(values);
  for (int r = 0; r < kLanes; ++r) {
    RunningLogSumExp<T> own;
    for (int i = 0; i < kTerms; ++i) own.add(x[static_cast<size_t>(i * kLanes + r)]);
    const auto is_own = [&](double value) {
      CHECK((value == own.value() ||
             std::abs(value - own.value()) <= near<T>() * (1 + std::abs(own.value()))));
    };
    is_own(values[r]);
    is_own(raised.lane(r).value());
    is_own(tiles.lane(r).value());
    if (r < kLanes - 1) CHECK(one_by_one.lane(r).value() == own.value());
    if (r == 3) CHECK(values[r] == -std::numeric_limits<T>::infinity());
  }
  CHECK(one_by_one.lane(kLanes - 1).sum == 0);
}

}  // namespace nine::tests::test_log_sum_exp
