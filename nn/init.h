// Initial values of parameters.
#pragma once

#include <cmath>
#include <cstdint>

namespace nine {

/// The distribution of one parameter's initial values.
struct Init {
  enum class Kind : uint8_t { zeros, ones, constant, normal, uniform, fan_in, xavier_uniform };
  Kind kind = Kind::zeros;
  /// The constant, the standard deviation, or the half-width of the uniform distribution.
  double scale = 0;

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  /// Samples from N(0, deviation^2).
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// Samples from U(-bound, bound).
  static Init uniform(double bound) { return {Kind::uniform, bound}; }

  // The next distributions depend on the sizes of a linear map from `in` to `out` numbers. Without
  // arguments the sizes are those of the layer, or in ParameterSet::add() those of the shape (...,
  // out, in).

  /// Samples from U(-1/sqrt(in), 1/sqrt(in)): the default of weight and bias in torch.nn.Linear.
  static Init fan_in() { return {Kind::fan_in, 0}; }
  static Init fan_in(int64_t in) { return fan_in().of_sizes(in, 0); }
  /// Samples from U(-a, a), a = sqrt(6 / (in + out)): torch.nn.init.xavier_uniform_ (Glorot &
  /// Bengio, 2010).
  static Init xavier_uniform() { return {Kind::xavier_uniform, 0}; }
  static Init xavier_uniform(int64_t in, int64_t out) { return xavier_uniform().of_sizes(in, out); }

  bool needs_sizes() const { return kind == Kind::fan_in || kind == Kind::xavier_uniform; }
  /// Returns the distribution with these sizes filled in.
  Init of_sizes(int64_t in, int64_t out) const {
    if (kind == Kind::fan_in) return uniform(1 / std::sqrt(static_cast<double>(in)));
    if (kind == Kind::xavier_uniform)
      return uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
    return *this;
  }
};

/// Initial values of the weights and biases of a layer's linear maps. The default is
/// torch.nn.Linear's.
struct LinearInit {
  Init weight = Init::fan_in();
  Init bias = Init::fan_in();

  /// Weights xavier_uniform, biases 0, as in fairseq's Transformer.
  static LinearInit xavier() { return {Init::xavier_uniform(), Init::zeros()}; }
};

}  // namespace nine
