// The texts and the dictionaries of a translation run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mt_train/mt_options.h"
#include "apps/training/run_inputs.h"
#include "data/parallel_corpus.h"

namespace nine::app {

/// Dictionaries and encoded texts.
struct MtData {
  Vocabulary source, target;
  ParallelCorpus train;
  std::optional<HeldOutPairs> valid, test;  ///< pairs that the model has positions for

  /// A run goes on only with the data that it was started with.
  RunInputs inputs(const MtOptions& options) const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
MtData load_mt_data(const MtOptions& options);

}  // namespace nine::app
