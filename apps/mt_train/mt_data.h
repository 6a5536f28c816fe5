// The texts and the dictionaries of a translation run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mt_train/mt_options.h"
#include "data/parallel_corpus.h"

namespace nine::app {

/// Dictionaries and encoded texts.
struct MtData {
  Vocabulary source, target;
  ParallelCorpus train;
  std::optional<HeldOutPairs> valid, test;  ///< pairs that the model has positions for

  /// CRC-32C over the training ids and the dictionaries, and over ids and references of validation
  /// and test. A run is resumed only with the data it was started with.
  uint32_t train_checksum() const;
  uint32_t valid_checksum() const;
  uint32_t test_checksum() const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
MtData load_mt_data(const MtOptions& options);

}  // namespace nine::app
