// The result of evaluating a model on a text.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "nn/training/mixture_weight_stats.h"

namespace nine {

/// Loss and, for translations, BLEU of a model on a text.
struct Evaluation {
  double nats = 0;                          ///< -log p of all predicted tokens together
  int64_t tokens = 0;                       ///< predicted
  MixtureWeightStats mixture_weights = {};  ///< of a mixture's components
  std::optional<double> bleu;               ///< of translations, in [0, 100]

  double nll() const { return nats / static_cast<double>(tokens); }  ///< nats per predicted token
  double ppl() const { return std::exp(nll()); }
};

}  // namespace nine
