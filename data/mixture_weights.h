// Weights of a linear mixture of models, tuned by expectation maximisation (EM).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// Returns for each token log(sum_m weights[m] exp(log_p[m][token])), also where all probabilities
/// are too small for a double; -infinity if all are 0. log_p has one row for each model, all of one
/// length. A model of weight 0 has no effect. Errors: the numbers of weights and models differ;
/// rows of different lengths.
std::vector<double> mixture_log_p(std::span<const std::vector<double>> log_p,
                                  std::span<const double> weights);

/// Weights that tune_mixture_weights() found.
struct TunedMixtureWeights {
  std::vector<double> weights;     ///< sum to 1
  std::vector<double> mean_log_p;  ///< mean log p of the counted tokens before each update, and at
                                   ///< the end: never smaller than the number before
  /// An upper bound, in nats a token, of what other weights can gain over the last mean log p.
  double gap = 0;
  int64_t tokens = 0;    ///< counted tokens: those to which a model gives a probability above 0
  bool stopped = false;  ///< true if kMostMixtureUpdates updates did not reach the tolerance
};
/// The most updates of tune_mixture_weights().
inline constexpr int kMostMixtureUpdates = 10'000;

/// Returns weights that make the mean log p of the mixture largest, as EM finds them from equal
/// weights:
///
///   w_m <- w_m g_m,   g_m = mean over the tokens of p_m / (sum_k w_k p_k)
///
/// The mean log p is concave in the weights, so log(max_m g_m) bounds what any other weights gain
/// (Cover, 1984). The search ends when this bound is at most `tolerance` nats a token. Tokens to
/// which no model gives a probability do not count. Errors: no model; rows of different lengths; no
/// token counts.
TunedMixtureWeights tune_mixture_weights(std::span<const std::vector<double>> log_p,
                                         double tolerance = 1e-9);

}  // namespace nine
