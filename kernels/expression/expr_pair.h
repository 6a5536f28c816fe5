// The score of a pair of vectors by a formula's programs, as a kernel's struct
// (kernels/scores/score.h): on the CPU for single pairs, in CUDA kernels for all pairs.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/expression/pair_run.h"
#include "kernels/scores/score.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// S of z, q, ww, hh, c and d. Its pointers refer to memory of the device that runs it.
struct ExprPair : SquaredNorm {
  static constexpr ScoreKind kKind = ScoreKind::expr;
  static constexpr const char* kName = "expr";
  static constexpr bool kExactTarget = true;

  expression::ProgramView score, by_vectors, exact_slopes, by_parameters;  ///< from Formula
  const double* constants = nullptr;
  uint16_t learned = 0;  ///< Score::learned

  template <class T>
  NINE_HD T value(T z, const T* w, const T* h) const {
    const Pair<T> at = of_product(z, w[0], h[0]);
    return expression::PairRun<T>(score, constants, at.variables).output(0);
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T* w, const T* h) const {
    const Pair<T> at = of_product(z, w[0], h[0]);
    const expression::PairRun<T> run(by_vectors, constants, at.variables);
    return {run.output(0), {run.output(1)}, {run.output(2)}};
  }

  /// Memory for value_in and slopes_in, which compute value and slopes in it.
  template <class T>
  struct Space {
    T variables[expression::kPairVariables], registers[expression::Operand::kRegisters];
  };
  template <class T>
  NINE_HD T value_in(Space<T>& space, T z, const T* w, const T* h) const {
    return run_in(space, score, z, w, h).output(0);
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes_in(Space<T>& space, T z, const T* w, const T* h) const {
    const auto run = run_in(space, by_vectors, z, w, h);
    return {run.output(0), {run.output(1)}, {run.output(2)}};
  }

  template <class T>
  NINE_HD T parameter_slope(int i, T z, const T* w, const T* h) const {
    const Pair<T> at = of_product(z, w[0], h[0]);
    return expression::PairRun<T>(by_parameters, constants, at.variables).output(place(i));
  }
  template <class T>
  NINE_HD double exact_parameter_slope(int i, const T* w, const T* h, int64_t d) const {
    const Pair<double> at = of_vectors(w, h, d);
    return expression::PairRun<double>(by_parameters, constants, at.variables).output(place(i));
  }

  /// Computes S and its gradients. With e = w - h: dS/dw = S_z h + 2 S_q e + 2 S_ww w + S_c dc/dw,
  /// where dc/dw = (h/|h| - c w/|w|)/|w|.
  template <class T>
  NINE_HD double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const {
    const Pair<double> at = of_vectors(w, h, d);
    const bool value_only = dw == nullptr && dh == nullptr;
    const expression::PairRun<double> run(value_only ? score : exact_slopes, constants,
                                          at.variables);
    if (value_only || up == 0) return run.output(0);  // avoids 0 times a slope that may be infinite
    const double q = at.variables[1], ww = at.variables[2], hh = at.variables[3],
                 c = at.variables[4];
    const double by_z = up * run.output(1), by_q = q > 0 ? 2 * up * run.output(2) : 0,
                 by_ww = 2 * up * run.output(3), by_hh = 2 * up * run.output(4),
                 by_c = c > -1 && c < 1 ? up * run.output(5) : 0,
                 over_w = ww > 0 ? 1 / std::sqrt(ww) : 0, over_h = hh > 0 ? 1 / std::sqrt(hh) : 0;
    // Where a norm is 0, c is 0 and has no slope.
    const double turn = by_c * over_w * over_h, of_w = by_ww - by_c * c * over_w * over_w,
                 of_h = by_hh - by_c * c * over_h * over_h;
    Visit<T>::each(d, [&](int64_t k) {
      const double x = static_cast<double>(w[k]), y = static_cast<double>(h[k]),
                   apart = by_q * (x - y);
      if (dw != nullptr) dw[k] += static_cast<T>((by_z + turn) * y + apart + of_w * x);
      if (dh != nullptr) dh[k] += static_cast<T>((by_z + turn) * x - apart + of_h * y);
    });
    return run.output(0);
  }

  /// z, q, ww, hh and c of a pair.
  template <class T>
  struct Pair {
    T variables[expression::kPairVariables];
  };
  /// Computes the variables as the loops over products do.
  template <class T>
  NINE_HD static Pair<T> of_product(T z, T ww, T hh) {
    const T q = ww + hh - T(2) * z;
    return {{z, q < T(0) ? T(0) : q, ww, hh, cosine(z, ww, hh)}};
  }
  /// Computes the variables from two vectors; q is then not a difference of large numbers.
  template <class T>
  NINE_HD static Pair<double> of_vectors(const T* w, const T* h, int64_t d) {
    const double ww = square_norm(w, d), hh = square_norm(h, d), z = dot(w, h, d);
    return {{z, square_distance(w, h, d), ww, hh, cosine(z, ww, hh)}};
  }

 private:
  template <class T>
  NINE_HD expression::PairRun<T, T*> run_in(Space<T>& space, const expression::ProgramView& program,
                                            T z, const T* w, const T* h) const {
    const Pair<T> at = of_product(z, w[0], h[0]);
    for (int i = 0; i < expression::kPairVariables; ++i) space.variables[i] = at.variables[i];
    return expression::PairRun<T, T*>(program, constants, space.variables, space.registers);
  }
  // Returns z / (|w| |h|), clamped to [-1, 1]; 0 where a norm is 0.
  template <class T>
  NINE_HD static T cosine(T z, T ww, T hh) {
    if (!(ww > T(0)) || !(hh > T(0))) return T(0);
    const T c = z * (T(1) / std::sqrt(ww)) * (T(1) / std::sqrt(hh));
    return c > T(1) ? T(1) : c < T(-1) ? T(-1) : c;
  }
  // Returns the index of parameter i among the learned parameters.
  NINE_HD int place(int i) const {
    int before = 0;
    for (int k = 0; k < i; ++k) before += learned >> k & 1;
    return before;
  }
};

}  // namespace nine::scores
