// Computes the log-probabilities of many sentences under one or several language models, for
// rescoring.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "nn/models/language_model.h"

namespace nine {

/// How the scores of several models are combined.
enum class Interpolation : uint8_t {
  linear,     ///< log of the weighted sum of the probabilities, word by word
  log_linear  ///< weighted sum of the log-probabilities, not normalised
};
template <>
inline constexpr EnumNames<Interpolation, 2> kEnumNames<Interpolation>{
    "interpolation",
    {{{Interpolation::linear, "linear"}, {Interpolation::log_linear, "log-linear"}}}};

/// The settings of sentence scoring.
struct SentenceScoring {
  Interpolation interpolation = Interpolation::linear;
  std::vector<double> weights;  ///< of the models; empty: equal weights that sum to 1
  int64_t batch_tokens = 4096;
  Device device;
};

/// Scores of the sentences, with counts.
struct SentenceScores {
  std::vector<double> log_p;     ///< natural, of each sentence with </s> or, under a model of raw
                                 ///< text, with a line feed
  int64_t distinct = 0;          ///< number of different sentences; each is scored once
  int64_t tokens = 0;            ///< in the different sentences, with their </s> or line feeds
  std::vector<int64_t> unknown;  ///< for each model: how many of these tokens its vocabulary lacks
};

/// Scores sentences with the models at `checkpoints`; one model is in memory at a time. A path that
/// is a file, not a directory, is an n-gram model in ARPA format. With an n-gram model, the
/// interpolated distribution is over the words that at least one model knows, and <unk>: a word
/// that only other models know has the probability 0 under a model, not that of <unk>. Then
/// log-linear interpolation and models of raw text are Errors. Scores each different sentence once,
/// in batches of similar length, from a state of zeros. Calls `progress(model, done, all)`, if set,
/// with the model's index and numbers of tokens. Errors: no model; a path without a model, before
/// anything is scored; a model of words and a model of raw text, or two tokenizers of raw text; the
/// numbers of weights and models differ; a negative weight; all weights are 0; linear weights that
/// do not sum to 1.
SentenceScores score_sentences_once(
    const std::vector<std::string>& checkpoints, std::span<const std::string> sentences,
    const SentenceScoring& options,
    const std::function<void(size_t, int64_t, int64_t)>& progress = {});

}  // namespace nine
