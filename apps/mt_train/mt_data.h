// The texts and the dictionaries of a translation run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mt_train/mt_options.h"
#include "apps/training/run_callbacks.h"
#include "apps/training/run_inputs.h"
#include "data/parallel_corpus.h"
#include "nn/models/translation_text.h"

namespace nine::app {

/// Dictionaries, tokenizers and encoded texts.
struct MtData {
  TranslationSide source, target;
  ParallelCorpus train;
  std::optional<HeldOutPairs> valid, test;  ///< the pairs that fit into the model's positions

  /// Identifies the data, because a run resumes only with the data with which it was started.
  RunInputs inputs(const MtOptions& options) const;
  /// Returns name and text of the files of dictionaries and tokenizers for checkpoints.
  RunCallbacks::ExtraFiles files(const MtOptions& options) const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
MtData load_mt_data(const MtOptions& options);

}  // namespace nine::app
