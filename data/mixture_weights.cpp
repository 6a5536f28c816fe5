#include "data/mixture_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace nine {
namespace {

constexpr double kLogOfZero = -std::numeric_limits<double>::infinity();

size_t tokens_of(std::span<const std::vector<double>> log_p) {
  require(!log_p.empty(), "[mixture] there is no model");
  for (const std::vector<double>& row : log_p)
    require(row.size() == log_p[0].size(), "[mixture] a model has ", row.size(),
            " tokens and another ", log_p[0].size());
  return log_p[0].size();
}

// The models' probabilities of a token, divided by the largest.
struct Scaled {
  std::vector<double> p;  // by token, then by model
  std::vector<double> log_scale;

  explicit Scaled(std::span<const std::vector<double>> log_p) {
    const size_t tokens = tokens_of(log_p);
    for (size_t t = 0; t < tokens; ++t) {
      double largest = kLogOfZero;
      for (const std::vector<double>& row : log_p) largest = std::max(largest, row[t]);
      if (largest == kLogOfZero) continue;
      log_scale.push_back(largest);
      for (const std::vector<double>& row : log_p) p.push_back(std::exp(row[t] - largest));
    }
  }
};

}  // namespace

std::vector<double> mixture_log_p(std::span<const std::vector<double>> log_p,
                                  std::span<const double> weights) {
  const size_t tokens = tokens_of(log_p);
  require(weights.size() == log_p.size(), "there are ", weights.size(), " weights for ",
          log_p.size(), log_p.size() == 1 ? " model" : " models",
          "; give one weight for each model");
  std::vector<double> mixed(tokens, kLogOfZero);
  for (size_t t = 0; t < tokens; ++t) {
    double largest = kLogOfZero, sum = 0;
    for (size_t m = 0; m < log_p.size(); ++m)
      if (weights[m] > 0) largest = std::max(largest, log_p[m][t]);
    if (largest == kLogOfZero) continue;
    for (size_t m = 0; m < log_p.size(); ++m)
      if (weights[m] > 0) sum += weights[m] * std::exp(log_p[m][t] - largest);
    mixed[t] = largest + std::log(sum);
  }
  return mixed;
}

TunedMixtureWeights tune_mixture_weights(std::span<const std::vector<double>> log_p,
                                         double tolerance) {
  const Scaled scaled(log_p);
  const size_t models = log_p.size(), tokens = scaled.log_scale.size();
  require(tokens > 0, "no token of the text has a probability under any of the models");
  TunedMixtureWeights tuned{
      .weights = std::vector<double>(models, 1.0 / static_cast<double>(models)),
      .mean_log_p = {},
      .tokens = static_cast<int64_t>(tokens)};
  std::vector<double> gains(models);
  for (int update = 0;; ++update) {
    std::fill(gains.begin(), gains.end(), 0.0);
    double sum_log = 0;
    for (size_t t = 0; t < tokens; ++t) {
      const double* const p = &scaled.p[t * models];
      double mixed = 0;
      for (size_t m = 0; m < models; ++m) mixed += tuned.weights[m] * p[m];
      sum_log += scaled.log_scale[t] + std::log(mixed);
      for (size_t m = 0; m < models; ++m) gains[m] += p[m] / mixed;
    }
    for (double& gain : gains) gain /= static_cast<double>(tokens);
    tuned.mean_log_p.push_back(sum_log / static_cast<double>(tokens));
    tuned.gap = std::max(0.0, std::log(*std::max_element(gains.begin(), gains.end())));
    tuned.stopped = tuned.gap > tolerance && update == kMostMixtureUpdates;
    if (tuned.gap <= tolerance || tuned.stopped) return tuned;
    double sum = 0;
    for (size_t m = 0; m < models; ++m) sum += tuned.weights[m] *= gains[m];
    for (double& weight : tuned.weights) weight /= sum;
  }
}

}  // namespace nine
