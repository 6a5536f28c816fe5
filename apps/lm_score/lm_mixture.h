// lm_score --interpolate: scores a text with a linear mixture of models, language models of Nine
// and n-gram models in ARPA format.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace nine::app {

/// The settings of a mixture.
struct MixtureOptions {
  std::vector<std::string> models;  ///< directories, and files in ARPA format
  std::vector<double> weights;      ///< of the models; empty: equal, unless they are tuned
  std::string tune;                 ///< a text on which the weights are tuned; empty: none
  bool tokens = false;              ///< --tokens
  bool undo_margins = false;        ///< --margin-correction
  double max_unknown = 0;           ///< --max-unknown
  ScoringOptions scoring;
  Device device;
};

/// Returns the weight that `text` spells. Error: `text` is not a number from 0 to 1.
double mixture_weight(const std::string& text);
/// Reads the texts of --weights, numbers from 0 to 1. Throws a UsageError: not one weight for each
/// model; a sum other than 1.
std::vector<double> read_mixture_weights(const std::vector<std::string>& texts, size_t models);

/// Writes the log-probabilities of `lines` under the mixture to `out`, as lm_score does for one
/// model, and the perplexities of the mixture and of its models to standard error. Errors call the
/// lines `name`.
void write_mixture(const MixtureOptions& options, std::span<const std::string> lines,
                   const std::string& name, std::ostream& out);

}  // namespace nine::app
