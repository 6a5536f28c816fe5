// The values that a parameter has before training.
#pragma once

#include <cmath>
#include <cstdint>

namespace nine {

/// The distribution of one parameter's initial values.
struct Init {
  enum class Kind : uint8_t { zeros, ones, constant, normal, uniform, fan_in, xavier_uniform };
  Kind kind = Kind::zeros;
  double scale = 0;  ///< constant, standard deviation, or half-width of the uniform distribution

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  /// N(0, deviation^2).
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// U(-bound, bound).
  static Init uniform(double bound) { return {Kind::uniform, bound}; }

  // Distributions that depend on the sizes of a linear map from `in` to `out` numbers. Without
  // sizes they take those of the layer they are given to, or of a parameter's shape (..., out, in).

  /// U(-1/sqrt(in), 1/sqrt(in)), how torch.nn.Linear starts weight and bias.
  static Init fan_in() { return {Kind::fan_in, 0}; }
  static Init fan_in(int64_t in) { return fan_in().of_sizes(in, 0); }
  /// U(-a, a), a = sqrt(6 / (in + out)): torch.nn.init.xavier_uniform_ (Glorot & Bengio, 2010).
  static Init xavier_uniform() { return {Kind::xavier_uniform, 0}; }
  static Init xavier_uniform(int64_t in, int64_t out) { return xavier_uniform().of_sizes(in, out); }

  bool needs_sizes() const { return kind == Kind::fan_in || kind == Kind::xavier_uniform; }
  /// The same with those sizes filled in.
  Init of_sizes(int64_t in, int64_t out) const {
    if (kind == Kind::fan_in) return uniform(1 / std::sqrt(static_cast<double>(in)));
    if (kind == Kind::xavier_uniform)
      return uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
    return *this;
  }
};

/// How the weights and biases of a layer's linear maps start; by default as in torch.nn.Linear.
struct LinearInit {
  Init weight = Init::fan_in();
  Init bias = Init::fan_in();

  /// Weights xavier_uniform, biases 0: fairseq's Transformer.
  static LinearInit xavier() { return {Init::xavier_uniform(), Init::zeros()}; }
};

}  // namespace nine
