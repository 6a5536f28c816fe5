// The best path of a lattice under a language model that reads whole histories.
//
// A network gives every word sequence a state of its own, so that an exact search has as many
// hypotheses as the lattice has word sequences. As in rnnlm (Mikolov et al., 2011), hypotheses that
// reach a node with the same last n words are merged: the better one stays, with its state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "data/lattice.h"

namespace nine {

/// A model that reads the words of one lattice. States are numbered from 0, the beginning of a
/// sentence, in the order of advance().
class HistoryModel {
 public:
  /// A state and a word of the lattice; kEnd: the end of the sentence.
  using Step = std::pair<int64_t, int32_t>;
  static constexpr int32_t kEnd = -1;

  virtual ~HistoryModel() = default;
  /// Begins a lattice: only state 0 is left.
  virtual void start(const Lattice& lattice) = 0;
  /// True if the model knows a word of the lattice. Others are its <unk>.
  virtual bool knows(int32_t word) const = 0;
  /// Reads a word after each state; the new states have the next numbers.
  virtual void advance(std::span<const Step> steps) = 0;
  /// Returns the natural log p of each word after its state.
  virtual std::vector<double> log_p(std::span<const Step> steps) = 0;
};

/// Opens a model of Nine (a directory) or an n-gram model in ARPA format (a file). Errors: those of
/// LanguageModel::load() and NGramModel::read(); a model of raw text.
std::unique_ptr<HistoryModel> open_history_model(const std::string& path, Device device = kCpu);
/// Opens several as a linear mixture, word by word, by the rules of score_sentences_once()
/// (nn/models/sentence_scores.h): with an n-gram model those of nn/models/word_mixture.h, otherwise
/// each model gives a word that it does not know the probability of its <unk>. Empty `weights`:
/// equal ones. Errors: no model; other numbers of weights.
std::unique_ptr<HistoryModel> open_history_models(const std::vector<std::string>& paths,
                                                  std::vector<double> weights,
                                                  Device device = kCpu);

/// The settings of a search. A path's score is first pass + lambda * log p + mu * words.
struct LatticeSearch {
  LatticeScales scales;  ///< of the first pass
  double lambda = 1, mu = 0;
  int64_t history = 2;       ///< n: words by which hypotheses are merged; kWhole: never merged
  int64_t most = 1'000'000;  ///< the most hypotheses of a lattice

  static constexpr int64_t kWhole = -1;
};

/// The best path that a search found.
struct RescoredPath {
  std::vector<int32_t> words;  ///< in Lattice::words
  double first_pass = 0, log_p = 0, score = 0;
  int64_t hypotheses = 0;  ///< that the search made
  int64_t states = 0;      ///< words that the model read
};

/// Returns the best path, of equal ones the first found. With history kWhole, and with an n-gram
/// model of order n + 1, this is the best of all paths. nullopt: every path has a word that the
/// model excludes. Errors: a history below kWhole; more than `most` hypotheses; a score that is not
/// a number.
std::optional<RescoredPath> rescore_lattice(const Lattice& lattice, HistoryModel& model,
                                            const LatticeSearch& search);

}  // namespace nine
