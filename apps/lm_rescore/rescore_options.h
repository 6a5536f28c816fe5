// lm_rescore's options as one struct.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "apps/cli/unknown_words.h"
#include "core/matmul_precision.h"
#include "data/lattice.h"
#include "data/measures/posteriors.h"
#include "data/measures/rescoring.h"
#include "data/n_best.h"
#include "data/transcripts.h"
#include "nn/models/sentence_scores.h"

namespace nine::app {

/// The files that lm_rescore writes into --output.
inline constexpr std::array<const char*, 7> kResultFiles{
    "results.json",   "hyp.trn",         "first.trn", "ref.trn",
    "utterances.tsv", "confidences.tsv", "hyp.ctm"};

/// Which hypothesis of a list is chosen.
enum class Choice : uint8_t {
  best,  ///< the one with the largest score
  mbr    ///< the one with the least expected word errors
};

}  // namespace nine::app

namespace nine {
template <>
inline constexpr EnumNames<app::Choice, 2> kEnumNames<app::Choice>{
    "choice", {{{app::Choice::best, "best"}, {app::Choice::mbr, "mbr"}}}};
}  // namespace nine

namespace nine::app {

/// The values of lm_rescore's flags; each has the name of its flag.
struct RescoreOptions {
  std::vector<std::string> checkpoint;
  std::string nbest, reference, output, output_nbest,
      output_nbest_format = "same", tune_nbest, tune_reference, baseline, group_by = "utterance",
      device = "cpu";
  NBestFormat nbest_format = NBestFormat::tsv;
  TranscriptFormat reference_format = TranscriptFormat::automatic;
  std::vector<std::string> nbest_scores, ngram_scores, first_weights;
  bool nbest_cost = false, allow_empty = false, json = false;
  RescoringMeasure measure = RescoringMeasure::wer;
  Interpolation interpolate = Interpolation::linear;
  std::vector<std::string> weights;
  WeightSearch tuning = WeightSearch::automatic;
  int64_t restarts = WeightSearchOptions().restarts;
  uint64_t tuning_seed = 1;
  Choice choice = Choice::best;
  double scale = 0;
  bool confidences = false;
  std::vector<std::string> confidence_map;
  double lambda = -1, mu = 0, margin_wer = 0, max_unknown = kMaxUnknown;
  int64_t batch_tokens = 4096, resamples = 1000;
  uint64_t seed = 1;
  int threads = 0;
  MatmulPrecision precision = MatmulPrecision::highest;

  // Lattices
  std::vector<std::string> lattices;
  LatticeFormat lattice_format = LatticeFormat::slf;
  int64_t lattice_nbest = 0, lattice_history = 2;
  std::string acoustic_scale, lm_scale, word_penalty;  // empty: those of the file

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other. Throws UsageError.
  void check(const Options& options) const;
  bool tunes() const { return !tune_nbest.empty(); }
  bool has_reference() const { return !reference.empty(); }
  bool needs_posteriors() const { return choice == Choice::mbr || confidences || scale > 0; }
  /// --confidence-map, or the map that changes nothing.
  ConfidenceMap given_map() const;
  /// The format of a file of --reference or --tune-reference.
  TranscriptFormat format_of(const std::string& transcripts) const;
  /// The format of --output-nbest.
  NBestFormat written_format() const;
  /// The weights of --first-weights; empty if the option is.
  std::vector<double> first() const;
  /// Whether --group-by names a file: neither "utterance" nor "before:TEXT".
  bool groups_by_file() const {
    return group_by != "utterance" && !group_by.starts_with("before:");
  }
  void check_weights() const;
  void check_lattices(const Options& options) const;
  /// The scales of a lattice's first pass: the file's, unless flags give others.
  LatticeScales scales_of(const Lattice& lattice) const;
  NBestOptions lists() const;
  SentenceScoring scoring(Device where) const;
  /// A file in --output.
  std::string file(const char* name) const;
};

}  // namespace nine::app
