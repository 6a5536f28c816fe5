// The texts and the vocabulary of a language-model run.
#pragma once

#include <optional>

#include "apps/lm_train/lm_options.h"
#include "data/corpus.h"

namespace nine::app {

/// Vocabulary and encoded texts.
struct LmData {
  Vocabulary vocabulary;
  Corpus train;
  std::optional<Corpus> valid, test;
  /// With --sample: perplexity of the language itself on the validation and test text, and per
  /// token in general.
  std::optional<double> valid_floor, test_floor, language_floor;

  /// CRC-32C over the training ids and the vocabulary (with the counts of --vocab's file, where
  /// that was given), and over the validation ids. A run is resumed only with the data it was
  /// started with.
  uint32_t train_checksum() const;
  uint32_t valid_checksum() const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
LmData load_lm_data(const LmOptions& options);

}  // namespace nine::app
