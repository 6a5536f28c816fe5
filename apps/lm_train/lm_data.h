// The texts and the vocabulary of a language-model run.
#pragma once

#include <optional>

#include "apps/lm_train/lm_options.h"
#include "apps/training/run_inputs.h"
#include "data/corpus.h"
#include "data/tokenizers/raw_text.h"

namespace nine::app {

/// Vocabulary and encoded texts.
struct LmData {
  Vocabulary vocabulary;
  Corpus train;
  std::optional<Corpus> valid, test;
  /// With --sample: the perplexity of the language itself on the validation text, on the test text,
  /// and in general.
  std::optional<double> valid_floor = {}, test_floor = {}, language_floor = {};
  /// Of raw texts: the tokenizer, how documents end, and a message about the texts.
  std::optional<ModelTokenizer> tokenizer = {};
  DocumentEnds ends = DocumentEnds::blank_lines;
  std::string raw_message = {};

  /// Identifies the data, because a run resumes only with the data with which it was started.
  RunInputs inputs(const LmOptions& options) const;
};

/// Reads the files, or generates the sample. Errors name files and lines.
LmData load_lm_data(const LmOptions& options);

}  // namespace nine::app
