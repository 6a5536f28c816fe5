// A text under several models at once, word by word: language models of Nine and n-gram models in
// ARPA format, for linear mixtures.
//
// The models may know different words. A mixture is a distribution over all words that some model
// knows, and <unk>, which stands for all other words together:
//
//   - A word that a model does not know has the probability 0 under this model, if another model
//     knows the word. The model's <unk> does not stand for the word: it would give each of many
//     words the probability of all of them together.
//   - A word that no model knows is <unk> for every model. An n-gram model without <unk> gives it
//     the probability 0.
//
// In the history of later words, a model reads its own <unk> for every word that it does not know.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace nine {

/// A text under several models.
struct MixtureScores {
  std::vector<std::vector<double>> log_p;  ///< by model, of each token: natural; -infinity: 0
  std::vector<size_t> ends;                ///< of each line: the number of tokens up to its end
  std::vector<int64_t> lacking;    ///< by model: tokens that it lacks and another model knows
  std::vector<bool> known_to_all;  ///< of each token
  int64_t unknown = 0;             ///< tokens that no model knows

  int64_t tokens() const { return static_cast<int64_t>(known_to_all.size()); }
};

/// True if a path is an n-gram model: a file. Directories are models of Nine.
bool is_ngram_file(const std::string& path);

/// The settings of score_mixture().
struct MixtureScoring {
  ScoringOptions options;
  std::vector<double> undo_margin;  ///< of each model (ScoringOptions::undo_margin); empty: none
  Device device;
};

/// Scores lines with each model; one model is in memory at a time. The tokens of a line are its
/// words and its end. With carry_state or window, a model of Nine reads earlier lines as
/// score_text() does; an n-gram model begins each line anew. Calls `progress(model, done, all)`, if
/// set, with numbers of tokens. Errors: no model; a path without a model, before anything is
/// scored; a model of raw text; those of score_text() and NGramModel::read().
MixtureScores score_mixture(const std::vector<std::string>& models,
                            std::span<const std::string> lines, const MixtureScoring& how,
                            const std::function<void(size_t, int64_t, int64_t)>& progress = {});

}  // namespace nine
