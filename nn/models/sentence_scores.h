// The log-probabilities of many sentences under one or several language models, for rescoring.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "nn/models/language_model.h"

namespace nine {

/// How several models make one score.
enum class Interpolation : uint8_t {
  linear,     ///< log of the weighted sum of the probabilities, word by word
  log_linear  ///< weighted sum of the log-probabilities, not normalised
};
template <>
inline constexpr EnumNames<Interpolation, 2> kEnumNames<Interpolation>{
    "interpolation",
    {{{Interpolation::linear, "linear"}, {Interpolation::log_linear, "log-linear"}}}};

/// How sentences are scored.
struct SentenceScoring {
  Interpolation interpolation = Interpolation::linear;
  std::vector<double> weights;  ///< of the models; empty: equal ones that add up to 1
  int64_t batch_tokens = 4096;
  Device device;
};

/// Scores of the sentences, and what was done for them.
struct SentenceScores {
  std::vector<double> log_p;     ///< of each sentence with </s>, natural
  int64_t distinct = 0;          ///< different sentences, each of which was scored once
  int64_t tokens = 0;            ///< of the different sentences, </s> counted
  std::vector<int64_t> unknown;  ///< of these, for each model, those outside of its vocabulary
};

/// Scores sentences with the models at `checkpoints`, which are in memory one at a time. Each
/// different sentence is scored once, in batches of similar length, from a state of zeros.
/// `progress(model, done, all)`, where given, is called with numbers of tokens. Errors: no model;
/// a path without one, before anything is scored; not one weight a model, a negative weight, all 0,
/// or linear weights that do not add up to 1.
SentenceScores score_sentences_once(
    const std::vector<std::string>& checkpoints, std::span<const std::string> sentences,
    const SentenceScoring& options,
    const std::function<void(size_t, int64_t, int64_t)>& progress = {});

}  // namespace nine
