#include "apps/inspect/short_form.h"

#include <cmath>
#include <mutex>
#include <numbers>
#include <unordered_map>
#include <vector>

#include "core/error.h"

namespace nine::app {
namespace {

constexpr double kNothing = 1e-13;  // what rounding leaves of 0

// What may stand behind a coefficient.
struct Unit {
  std::string text;
  double value;
};

std::vector<Unit> make_units() {
  std::vector<Unit> units{{"pi", std::numbers::pi},
                          {"sqrt(pi)", std::sqrt(std::numbers::pi)},
                          {"sqrt(2*pi)", std::sqrt(2 * std::numbers::pi)},
                          {"pi^2", std::numbers::pi * std::numbers::pi}};
  for (const int n : {2,  3,  5,  6,  7,  10, 11, 13, 14, 15, 17, 19, 21, 22, 23, 26, 29, 30, 33,
                      34, 35, 37, 38, 39, 41, 42, 43, 46, 47, 51, 53, 55, 57, 58, 59, 61, 62, 65})
    units.push_back({concat("sqrt(", n, ")"), std::sqrt(n)});
  for (const int n : {2, 3, 5, 6, 7, 10}) units.push_back({concat("ln(", n, ")"), std::log(n)});
  units.push_back({"ln(2)^2", std::log(2) * std::log(2)});
  units.push_back({"ln(3)^2", std::log(3) * std::log(3)});
  units.push_back({"ln(2)*ln(3)", std::log(2) * std::log(3)});
  units.push_back({"sqrt(2)*ln(2)", std::numbers::sqrt2 * std::log(2)});
  for (int k = -40; k <= 40; ++k)
    if (k != 0) units.push_back({concat("exp(", k / 4.0, ")"), std::exp(k / 4.0)});
  // Waves and their decay, at multiples of pi/4.
  for (int k = 1; k <= 16; ++k) {
    const double x = -k * std::numbers::pi / 4;
    const std::string power = concat("exp(-", k / 4.0, "*pi)");
    units.push_back({power, std::exp(x)});
    for (const Unit& root : {Unit{"sqrt(pi)", std::sqrt(std::numbers::pi)},
                             Unit{"sqrt(2*pi)", std::sqrt(2 * std::numbers::pi)},
                             Unit{"sqrt(2)", std::numbers::sqrt2}})
      units.push_back({root.text + "*" + power, root.value * std::exp(x)});
  }
  for (const double root : {2.0, 3.0, 5.0})
    for (int k = -8; k <= 8; ++k)
      if (k != 0)
        units.push_back(
            {concat("sqrt(", root, ")*exp(", k / 2.0, ")"), std::sqrt(root) * std::exp(k / 2.0)});
  return units;
}

// n/d with d up to `most`; d = 0: x is none.
struct Fraction {
  double n = 0;
  int d = 0;
};
// By its continued fraction: what is that near to x is one of its convergents.
Fraction fraction_of(double x, int most, double most_n, double tolerance) {
  const double size = std::abs(x);
  if (size > most_n) return {};
  double rest = size, n = 1, d = 0, last_n = 0, last_d = 1;
  for (int step = 0; step < 12; ++step) {
    const double whole = std::floor(rest);
    const double next_n = whole * n + last_n, next_d = whole * d + last_d;
    if (next_d > most || next_n > most_n) return {};
    last_n = n, last_d = d, n = next_n, d = next_d;
    if (n > 0 && std::abs(size * d - n) <= tolerance * n)
      return {x < 0 ? -n : n, static_cast<int>(d)};
    if (rest == whole) return {};
    rest = 1 / (rest - whole);
  }
  return {};
}

// Of factors 2, 3 and 5: what a product of a few short numbers may have below.
bool of_small_primes(int n) {
  for (const int p : {2, 3, 5})
    while (n % p == 0) n /= p;
  return n == 1;
}

std::string text_of(const Fraction& f) {
  const double x = f.n / f.d;
  return is_decimal(x) ? concat(std::round(1000 * x) / 1000) : concat(f.n, '/', f.d);
}
std::string times(const Fraction& f, const std::string& unit) {
  if (f.d == 1 && std::abs(f.n) == 1) return (f.n < 0 ? "-" : "") + unit;
  return text_of(f) + "*" + unit;
}

// ln(n/d), or ln(n/d)/2.
std::string logarithm(double x, int most, double tolerance) {
  if (std::abs(x) > 12) return {};
  for (const int part : {1, 2}) {
    const Fraction f =
        fraction_of(std::exp(part * x), most, 1000, tolerance * (1 + part * std::abs(x)));
    if (f.d == 0 || (f.n == f.d)) continue;
    return concat("ln(", f.n, f.d > 1 ? concat('/', f.d) : "", ')', part > 1 ? "/2" : "");
  }
  return {};
}

// A decimal a and the logarithm of a fraction, which pi may multiply.
std::string with_logarithm(double x, int most, double tolerance) {
  for (int k = -80; k <= 80; ++k) {
    const double a = k / 16.0, rest = a - x;  // x = a - rest
    if (!is_decimal(a) || std::abs(rest) > 8) continue;
    const auto begin = [&] { return k == 0 ? "-" : concat(a, " - "); };
    const double power = std::exp(rest);
    const Fraction of_pi = fraction_of(power / std::numbers::pi, std::min(most, 16), 64,
                                       tolerance * (1 + std::abs(x)));
    if (of_pi.d > 0) return concat(begin(), "ln(", times(of_pi, "pi"), ')');
    if (k == 0 || most < 8) continue;
    const Fraction f = fraction_of(power, std::min(most, 12), 48, tolerance * (1 + std::abs(x)));
    if (f.d > 0) return concat(begin(), "ln(", text_of(f), ')');
  }
  return {};
}

}  // namespace

bool is_decimal(double x) {
  if (std::abs(x) < kNothing) return true;
  const double thousands = std::abs(1000 * x), whole = std::round(thousands);
  return thousands < 1e8 && whole > 0 && std::abs(thousands - whole) <= 1e-9;
}

namespace {

std::string find_form(double x, double tolerance) {
  static const std::vector<Unit> units = make_units();
  if (std::abs(x) < kNothing) return "0";
  const bool rough = tolerance > 1e-9;
  const int most = rough ? 4 : 64;
  const double most_n = rough ? 20 : 1000;
  if (is_decimal(x)) return concat(std::round(1000 * x) / 1000);
  if (const Fraction f = fraction_of(x, rough ? 12 : 200, rough ? 100 : 2000, tolerance); f.d > 0)
    return text_of(f);
  if (const Fraction f = rough ? Fraction{} : fraction_of(x, 3200, 60000, tolerance);
      f.d > 0 && of_small_primes(f.d))
    return text_of(f);
  if (std::string form = logarithm(x, rough ? 12 : 144, tolerance); !form.empty()) return form;
  if (const Fraction f = std::abs(x) > 5 || rough
                             ? Fraction{}
                             : fraction_of(std::cosh(x), 8, 60, tolerance * (1 + std::abs(x)));
      f.d > 0 && f.n != f.d)
    return concat(x < 0 ? "-" : "", "arcosh(", text_of(f), ')');
  for (const Unit& u : units)
    if (const Fraction f = fraction_of(x / u.value, most, most_n, tolerance); f.d > 0)
      return times(f, u.text);
  return with_logarithm(x, most, tolerance);
}

}  // namespace

std::string short_form(double x, double tolerance) {
  // Keeps the forms, because a search for an exercise asks for the same numbers again and again.
  // Is not thread_local: the C library ends the program if it has no memory to register the
  // destructor of a thread's variable.
  static std::mutex one_at_a_time;
  static std::unordered_map<double, std::unordered_map<double, std::string>> known;
  const std::lock_guard lock(one_at_a_time);
  const auto [at, is_new] = known[tolerance].try_emplace(x);
  if (is_new) at->second = find_form(x, tolerance);
  return at->second;
}

}  // namespace nine::app
