// The options of mt_translate as one struct. mt_translate has three tasks: it translates, scores
// given translations with the model (--score-given), or scores a translated file against references
// (--score without --checkpoint).
#pragma once

#include <string>
#include <vector>

#include "apps/cli/sampling_options.h"
#include "apps/cli/unknown_words.h"
#include "apps/mt_translate/translate_text.h"
#include "apps/mt_translate/translation_score.h"
#include "core/matmul_precision.h"

namespace nine::app {

/// The values of mt_translate's flags. Each value has the name of its flag.
struct TranslateOptions {
  std::vector<std::string> checkpoint;  // several: an ensemble
  std::string input = "-", output = "-", codes, vocabulary, tokenize_input = "none", attention,
              alignment, word_scores, token_pairs, prefix, score_given, reference, device = "cpu";
  bool flush = false, join = false, tokens = false, score = false, count_end = false,
       skip_long = false;
  std::vector<std::string> glossaries;
  int64_t vocabulary_threshold = 0, beam = 5, max_length = 200, batch = 64, n_best = 0;
  double length_penalty = 1;
  // Sampling
  int64_t samples = 0;
  SamplingOptions sampling{.allow_unknown = true};
  uint64_t seed = 1;
  int threads = 0;
  double mpi_timeout = 600, max_unknown = kMaxUnknown;
  MatmulPrecision precision = MatmulPrecision::highest;
  DetokenizeOptions detokenize;
  TranslationScoreFlags scoring;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other. Throws UsageError.
  void check(const Options& options) const;
  SegmentationOptions segmentation() const;
  SearchOptions search(const Translator& translator) const;
  bool translates() const { return !checkpoint.empty() && score_given.empty(); }
  /// What messages call the model, or the ensemble.
  std::string model_name() const;
};

}  // namespace nine::app
