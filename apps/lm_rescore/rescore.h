// What lm_rescore does: reads n-best lists, scores them, finds weights, chooses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/lm_rescore/rescore_options.h"
#include "data/measures/list_warnings.h"
#include "data/measures/posteriors.h"
#include "data/measures/rescoring.h"

namespace nine::app {

/// Hypotheses that cannot be chosen, for one of two reasons.
struct Impossible {
  int64_t log_zeros = 0;  ///< first-pass scores that stand for the logarithm of 0
  int64_t excluded = 0;   ///< with a word that a model excludes
};

/// N-best lists with their references and scores.
struct RescoredLists {
  std::string file;
  std::vector<std::string> score_names;  ///< of the first-pass scores
  std::vector<NBestList> lists;
  std::vector<std::string> references;  ///< empty: there are none
  std::vector<ScoredList> scores;       ///< the first pass's are summed with --first-weights
  SentenceScores model;                 ///< of all hypotheses, list by list
  double seconds = 0;                   ///< that the models took
  Impossible impossible;

  int64_t hypotheses() const { return std::ssize(model.log_p); }
  /// The chosen hypotheses' words.
  std::vector<std::string> texts(std::span<const size_t> chosen) const;
  /// The words of the first pass's choices (nine::first_choices).
  std::vector<std::string> first_pass() const { return texts(first_choices(lists)); }
  /// The lists as messages name them; `reference` is the file of the references.
  NamedLists named(const std::string& reference) const {
    return {file, reference, lists, references};
  }
  /// The number of lists whose first hypothesis is not the first pass's choice.
  int64_t out_of_order() const;
};

/// Reads the lists of `nbest` and, unless `reference` is empty, their references. Scores nothing.
/// Prints how many hypotheses have a log zero as their score. Errors: those of read_n_best_file(),
/// read_transcripts() and texts_of(); --first-weights does not give one number for each score.
RescoredLists read_lists(const RescoreOptions& options, const std::string& nbest,
                         const std::string& reference);
/// Appends to the first-pass scores of all these lists the log p of each model of --ngram-scores.
/// The first pass's choice stays that of the lists alone. Prints how many words a model does not
/// know. Errors: those of NGramModel::read().
void add_ngram_scores(const RescoreOptions& options, std::span<RescoredLists* const> all);
/// Scores the lists with the models and fills `scores`, `model`, `seconds` and
/// `impossible.excluded`. Shows the progress. Prints how many tokens are unknown and how many
/// hypotheses a model excludes. Errors: too many unknown tokens (--max-unknown); those of
/// score_sentences_once() and scored_lists().
void score_lists(const RescoreOptions& options, RescoredLists& lists, Device device);

/// Returns the name of a score, with _2 behind it as often as one of `names` is the same: lists
/// that lm_rescore wrote have its names already.
std::string unused_name(const std::vector<std::string>& names, std::string name);

/// Error: the lists to tune on do not have the first-pass scores of `lists`.
void require_same_scores(const RescoredLists& tuning, const RescoredLists& lists);

/// The weights that make the errors on `lists` smallest, or BLEU largest. Says where the search was
/// stopped.
RescoringWeights tuned_weights(const RescoreOptions& options, const RescoredLists& lists);

/// The flags that give these weights: "--lambda 2.5 --mu 0".
std::string weight_flags(const RescoringWeights& weights);

}  // namespace nine::app
