// How well a translation model does on held-out pairs: loss, and BLEU of its translations.
#pragma once

#include <string>
#include <vector>

#include "data/measures/bleu.h"
#include "data/pair_batches.h"
#include "nn/models/beam_search.h"
#include "nn/training/trainer.h"

namespace nine {

/// A text to evaluate on.
struct HeldOutPairs {
  ParallelCorpus pairs;
  std::vector<std::string>
      references;  ///< the target lines of these pairs, as they are in the text
};

/// A batch of a corpus as the model takes it.
TranslationBatch to_translation_batch(const PairBatch& batch);

/// Nats of the targets given their sources, in batches of at most that size (a longer pair goes
/// alone); nothing is recorded.
Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size);

/// A line with its subwords put together again ("@@ " undone).
std::string whole_words(const std::string& line);

/// The words of those ids with spaces between them.
std::string tokens_of(const Vocabulary& dictionary, std::span<const int32_t> ids);
/// The same, subwords put together.
std::string text_of(const Vocabulary& dictionary, std::span<const int32_t> ids);

/// mt_translate's search with that beam, but no translation is longer than twice the text's longest
/// sentence: a model at its start may not find an end at all, and what is that long has no BLEU.
SearchOptions validation_search(const ParallelCorpus& pairs, int64_t beam);

/// The best translation of each pair's source, as text_of gives it.
std::vector<std::string> translate_pairs(const Translator& translator, const ParallelCorpus& pairs,
                                         const Vocabulary& target, const SearchOptions& search);

/// BLEU of such translations; subwords in the references are put together too, and white space
/// separates the words of both.
BleuScore tokenised_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text);

}  // namespace nine
