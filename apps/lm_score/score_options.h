// The options of lm_score as one struct. lm_score has eight tasks: it scores a text, with one model
// or with a mixture of several (--interpolate), shows the likeliest words (--top) or a mixture's
// components (--components), continues prompts (--generate), compares two models (--compare), lets
// one or two models choose words of sets (--restrict), or finds sets of similar words (--clusters).
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "apps/cli/sampling_options.h"
#include "apps/cli/unknown_words.h"
#include "apps/lm_score/lm_clusters.h"
#include "apps/lm_score/lm_mixture.h"
#include "apps/lm_score/lm_restrict.h"
#include "apps/lm_score/lm_top_page.h"
#include "core/matmul_precision.h"
#include "data/detokenize.h"

namespace nine::app {

/// The values of lm_score's flags. Each value has the name of its flag.
struct ScoreOptions {
  std::string checkpoint, input = "-", output = "-", device = "cpu";
  bool flush = false, tokens = false, words = false, carry_state = false, components = false,
       margin_correction = false;
  int64_t batch_tokens = 4096, window = 0;
  int threads = 0;
  double mpi_timeout = 600, max_unknown = kMaxUnknown;
  MatmulPrecision precision = MatmulPrecision::highest;
  uint64_t seed = 1;
  int64_t top = 0;
  // Continuing prompts
  bool generate = false;
  int64_t max_words = 50, line_count = 1, samples = 1, batch = 32;
  SamplingOptions sampling;
  DetokenizeOptions detokenize;
  // Comparing two models
  std::vector<std::string> compare, at;
  int64_t resamples = 1000, worst = 10;
  // Mixtures
  std::vector<std::string> interpolate, weights;
  std::string tune_weights;
  // Which word of a set
  std::string restrict_to, clusters, cluster_text;
  bool json = false, choices = false;
  int64_t cluster_size = 5, cluster_min_count = 500;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other. Throws UsageError.
  void check(const Options& options) const;
  RestrictOptions restricting(Device where) const;
  ClusterOptions clustering() const;
  MixtureOptions mixture(Device where) const;
  /// --checkpoint, if given, and the models of --interpolate.
  std::vector<std::string> mixed_models() const;
  TopPageOptions top_page(Device where) const;
  /// True if each line has its own answer, which --flush can write at once.
  bool answers_lines() const;
  /// True if no other task is given than scoring a text.
  bool scores() const;

 private:
  void check_mixture() const;
};

}  // namespace nine::app
