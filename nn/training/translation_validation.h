// How well a translation model does on held-out pairs: loss, and BLEU of its translations.
#pragma once

#include <string>
#include <vector>

#include "core/communicator.h"
#include "data/measures/bleu.h"
#include "data/pair_batches.h"
#include "nn/models/beam_search.h"
#include "nn/models/transformer.h"
#include "nn/training/trainer.h"

namespace nine {

/// A text to evaluate on.
struct HeldOutPairs {
  ParallelCorpus pairs;
  std::vector<std::string> references;  ///< the target lines of these pairs, as in the text
};

/// A batch of a corpus as the model takes it.
TranslationBatch to_translation_batch(const PairBatch& batch);

/// Nats of the targets given their sources, in batches of at most that size (a longer pair goes
/// alone); nothing is recorded. Several processes share the batches out; the result is the same in
/// each.
Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size, Communicator& communicator = one_process());

/// SearchOptions' defaults with that beam, but translations are at most about twice as long as the
/// text's longest sentence: an untrained model may never choose </s>, and such a translation has a
/// BLEU near 0 at any length.
SearchOptions validation_search(const ParallelCorpus& pairs, int64_t beam);

/// The ids of pair i's source without </s>, as a BeamSearch takes them.
BeamSearch::Ids source_words(const ParallelCorpus& pairs, int64_t i);

/// The best translation of each pair's source, as text with subwords joined. Several processes
/// share the pairs out; each gets all translations.
std::vector<std::string> translate_pairs(const BeamSearch& beam_search, const ParallelCorpus& pairs,
                                         const Vocabulary& target, const SearchOptions& search,
                                         Communicator& communicator = one_process());

/// BLEU of such translations; subwords in the references are joined too, and white space separates
/// the words of both.
BleuScore tokenised_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text);

}  // namespace nine
