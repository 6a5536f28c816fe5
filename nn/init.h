// The values that a parameter has before training.
#pragma once

#include <cmath>
#include <cstdint>

namespace nine {

/// The distribution of one parameter's initial values.
struct Init {
  enum class Kind : uint8_t { zeros, ones, normal, uniform } kind = Kind::zeros;
  double scale = 0;  ///< standard deviation, or the half-width of the uniform distribution

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::ones, 0}; }
  /// N(0, deviation^2).
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// U(-bound, bound).
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  /// U(-1/sqrt(in), 1/sqrt(in)), how torch.nn.Linear starts weight and bias of `in` inputs.
  static Init fan_in(int64_t in) { return uniform(1 / std::sqrt(static_cast<double>(in))); }
  /// U(-a, a), a = sqrt(6 / (in + out)): torch.nn.init.xavier_uniform_ (Glorot & Bengio, 2010).
  static Init xavier_uniform(int64_t in, int64_t out) {
    return uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
  }
};

/// How the linear maps inside a layer start.
enum class LinearInit : uint8_t {
  torch,   ///< as in the torch.nn module of the same name
  xavier,  ///< weights xavier_uniform, biases 0: fairseq's Transformer
};

}  // namespace nine
