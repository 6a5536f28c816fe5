// Runs programs of expressions over arrays. The loops are compiled for each instruction set
// (kernels/expression/cpu/expression_loops.cpp). pair_run.h runs programs for single pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/error.h"
#include "kernels/expression/operations.h"
#include "kernels/expression/program.h"

namespace nine::expression {

/// The number of pairs of vectors that a program runs over at once: an array of floats is 1 KiB.
inline constexpr int64_t kStrip = 256;

// A separate loop with all callees inlined, so that it vectorises.
#define NINE_STRIP_LOOP [[gnu::flatten, gnu::noinline]] inline

template <class T, class F>
NINE_STRIP_LOOP void map(const T* a, int64_t n, T* out, F f) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) out[k] = f(a[k]);
}
template <class T, class F>
NINE_STRIP_LOOP void map(const T* a, const T* b, int64_t n, T* out, F f) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) out[k] = f(a[k], b[k]);
}
template <class T, class F>
NINE_STRIP_LOOP void map(const T* a, T b, int64_t n, T* out, F f) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) out[k] = f(a[k], b);
}
template <class T, class F>
NINE_STRIP_LOOP void map(T a, const T* b, int64_t n, T* out, F f) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) out[k] = f(a, b[k]);
}
template <class T, class F>
NINE_STRIP_LOOP void choose(const T* a, const T* b, const T* x, const T* y, int64_t n, T* out,
                            F first) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) out[k] = first(a[k], b[k]) ? x[k] : y[k];
}

/// Computes x^k for one exponent k.
template <class T>
void power(const T* x, double k, int64_t n, T* out) {
  if (k == 0) return (void)std::fill_n(out, n, T(1));
  if (k == 1) return map(x, n, out, [](T a) { return a; });
  if (k == 2) return map(x, n, out, [](T a) { return a * a; });
  if (k == 3) return map(x, n, out, [](T a) { return a * a * a; });
  if (k == 4) return map(x, n, out, [](T a) { return (a * a) * (a * a); });
  if (k == -1) return map(x, n, out, [](T a) { return T(1) / a; });
  if (k == -2) return map(x, n, out, [](T a) { return T(1) / (a * a); });
  if (k == 0.5) return map(x, n, out, [](T a) { return std::sqrt(a); });
  if (k == -0.5) return map(x, n, out, [](T a) { return T(1) / std::sqrt(a); });
  const bool whole = k == std::floor(k);
  const T below = !whole                 ? std::numeric_limits<T>::quiet_NaN()
                  : std::fmod(k, 2) == 0 ? T(1)
                                         : T(-1);
  const T exponent = static_cast<T>(k);
  map(x, n, out, [exponent, below](T a) {
    return vexp(exponent * vlog(a < T(0) ? -a : a)) * (a < T(0) ? below : T(1));
  });
}

/// One run of a program over n pairs, at most kStrip. `variables`: arrays of the variables that the
/// program uses. `constants`: the result of Constants::compute. `registers`: memory for
/// program.registers arrays of kStrip numbers.
template <class T>
class Run {
 public:
  Run(const Program& program, const double* constants, const T* const* variables, int64_t n,
      T* registers)
      : program_(program),
        constants_(constants),
        variables_(variables),
        n_(n),
        registers_(registers) {
    for (const Instruction& i : program.code) step(i);
  }

  /// Returns output k as an array, or null if the output is one number.
  const T* output(size_t k) const {
    const Operand o = program_.outputs[k];
    return o.is_constant() ? nullptr : array(o);
  }
  T constant_output(size_t k) const { return constant(program_.outputs[k]); }
  T output_at(size_t k, int64_t pair) const {
    const T* all = output(k);
    return all != nullptr ? all[pair] : constant_output(k);
  }

 private:
  const T* array(Operand o) const {
    return o.is_variable() ? variables_[static_cast<int>(o.variable())]
                           : registers_ + o.place * kStrip;
  }
  T constant(Operand o) const { return static_cast<T>(constants_[o.constant()]); }

  template <class F>
  void one(const Instruction& i, F f) const {
    map(array(i.args[0]), n_, registers_ + i.out * kStrip, f);
  }
  template <class F>
  void two(const Instruction& i, F f) const {
    T* out = registers_ + i.out * kStrip;
    if (i.args[1].is_constant())
      map(array(i.args[0]), constant(i.args[1]), n_, out, f);
    else if (i.args[0].is_constant())
      map(constant(i.args[0]), array(i.args[1]), n_, out, f);
    else
      map(array(i.args[0]), array(i.args[1]), n_, out, f);
  }
  template <class F>
  void side(const Instruction& i, F first) const {
    choose(array(i.args[0]), array(i.args[1]), array(i.args[2]), array(i.args[3]), n_,
           registers_ + i.out * kStrip, first);
  }

  void step(const Instruction& i) const {
    T* out = registers_ + i.out * kStrip;
    switch (i.op) {
      case Op::number:
        return (void)std::fill_n(out, n_, constant(i.args[0]));
      case Op::power:
        if (i.args[1].is_constant())
          return power(array(i.args[0]), constants_[i.args[1].constant()], n_, out);
        return map(array(i.args[0]), array(i.args[1]), n_, out,
                   [](T a, T b) { return vpow(a, b); });
#define NINE_CASE(op, name, result, exact, javascript, rule) \
  case Op::op:                                               \
    return one(i, [](T a) { return result; });
        NINE_UNARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, name, result, javascript) \
  case Op::op:                                  \
    return two(i, [](T a, T b) { return result; });
        NINE_BINARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, condition, javascript) \
  case Op::op:                               \
    return side(i, [](T a, T b) { return condition; });
        NINE_CHOICES(NINE_CASE)
#undef NINE_CASE
      default:
        fail("[expression] no instruction ", static_cast<int>(i.op));
    }
  }

  const Program& program_;
  const double* constants_;
  const T* const* variables_;
  int64_t n_;
  T* registers_;
};

#undef NINE_STRIP_LOOP

}  // namespace nine::expression
