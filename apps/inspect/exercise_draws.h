// Draws the numbers of exercises that a search cannot find, because relations between the numbers
// decide whether the results have short forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.h"

namespace nine::app {

/// Draws random numbers of a seed, one after another.
class Draws {
 public:
  explicit Draws(uint64_t seed) : key_{.seed = seed, .op = stream_id("kernel_inspect exercise")} {}
  size_t below(size_t n) { return random_bits(key_, count_++) % n; }
  double of(const std::vector<double>& pool) { return pool[below(pool.size())]; }

 private:
  RandomKey key_;
  uint64_t count_ = 0;
};

/// Returns the numbers of an exercise of layer_norm, lstm, attention or weight_norm_reg, in the
/// order in which explain() takes them; nothing for other names.
std::optional<std::vector<double>> drawn_numbers(const std::string& name, Draws& draws);

}  // namespace nine::app
