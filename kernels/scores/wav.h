// wav: a damped wave of the squared distance.
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/radial.h"

namespace nine::scores {

struct Wav : Radial<Wav> {
  static constexpr bool kTakesMath = true;
  static constexpr ScoreKind kKind = ScoreKind::wav;
  static constexpr const char* kName = "wav";
  static constexpr const char* kNote =
      "S lies in (-1, 1], so without a bias perplexity >= 1 + (V-1) e^(m-1), m the least value of "
      "S";
  static constexpr ParameterInfo kParameters[] = {{.name = "a",
                                                   .default_value = 1,
                                                   .meaning = "period of the wave over 2 pi, not 0",
                                                   .learnable = Learnable::real},
                                                  {.name = "b",
                                                   .default_value = 1,
                                                   .meaning = "length of the decay, > 0",
                                                   .learnable = Learnable::positive}};

  static KernelExpression expression(const Score&) {
    return {{{"wave", "cos(q/a)", "the wave"},
             {"decay", "exp(-q/b)", "its decay"},
             {"S", "wave*decay", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    if (s.parameters[0] == 0) return "a must not be 0";
    return s.parameters[1] > 0 ? "" : "b must be > 0";
  }
  Wav(const Score& s, int64_t) : over_a(1 / s.parameters[0]), over_b(1 / s.parameters[1]) {}

  template <class Math = SeriesMath, class T>
  NINE_HD T phi(T q) const {
    return vsincos(q * static_cast<T>(over_a)).cos * Math::exp(-q * static_cast<T>(over_b));
  }
  template <class Math = SeriesMath, class T>
  NINE_HD T phi_slope(T q) const {
    const SinCos<T> wave = vsincos(q * static_cast<T>(over_a));
    return -Math::exp(-q * static_cast<T>(over_b)) *
           (wave.sin * static_cast<T>(over_a) + wave.cos * static_cast<T>(over_b));
  }
  // Slope with respect to a, then to b.
  template <class T>
  NINE_HD T phi_parameter_slope(int i, T q) const {
    const SinCos<T> wave = vsincos(q * static_cast<T>(over_a));
    const T grown = i == 0 ? wave.sin * static_cast<T>(over_a * over_a)
                           : wave.cos * static_cast<T>(over_b * over_b);
    return grown * q * vexp(-q * static_cast<T>(over_b));
  }

  double over_a, over_b;  // 1/a, 1/b
};

}  // namespace nine::scores
