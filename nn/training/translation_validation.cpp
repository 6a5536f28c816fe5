#include "nn/training/translation_validation.h"

#include <algorithm>
#include <numeric>

#include "nn/models/translation_text.h"

namespace nine {

TranslationBatch to_translation_batch(const PairBatch& b) {
  return {.src = Tensor::from(b.src, {b.pairs, b.src_cols}),
          .tgt_in = Tensor::from(b.tgt_in, {b.pairs, b.tgt_cols}),
          .tgt_out = Tensor::from(b.tgt_out, {b.pairs, b.tgt_cols}),
          .src_lengths = Tensor::from(b.src_lengths, {b.pairs}),
          .tgt_lengths = Tensor::from(b.tgt_lengths, {b.pairs}),
          .tokens = std::accumulate(b.tgt_lengths.begin(), b.tgt_lengths.end(), int64_t{0})};
}

Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size) {
  const NoGrad guard(tape);
  if (size.tokens > 0) size.tokens = std::max(size.tokens, pairs.longest());
  PairBatches batches(pairs, size, std::nullopt);
  Evaluation result;
  result.mixture_weights = MixtureWeightStats::of(model.config().head.spec);
  for (PairBatch batch; batches.next(batch);) {
    tape.reset();
    const TranslationBatch b = to_translation_batch(batch);
    const SoftmaxLoss out = model.loss(tape, b, 1.0);
    if (out.prior) result.mixture_weights.add(out.prior.value(), b.tgt_out);
    const std::vector<double> nats = out.nll.value().to_vector();
    result.nats += std::accumulate(nats.begin(), nats.end(), 0.0);
    result.tokens += b.tokens;
  }
  tape.reset();
  return result;
}

SearchOptions validation_search(const ParallelCorpus& pairs, int64_t beam) {
  SearchOptions search{.beam = beam};
  search.max_length = pairs.longest() + std::min(pairs.longest(), search.max_length);
  return search;
}

BeamSearch::Ids source_words(const ParallelCorpus& pairs, int64_t i) {
  const auto ids = pairs.source(i);
  return {ids.begin(), ids.end() - 1};
}

std::vector<std::string> translate_pairs(const BeamSearch& beam_search, const ParallelCorpus& pairs,
                                         const Vocabulary& target, const SearchOptions& search) {
  std::vector<BeamSearch::Ids> sources;
  for (int64_t i = 0; i < pairs.pairs(); ++i) sources.push_back(source_words(pairs, i));
  std::vector<std::string> out;
  for (const Translation& found : beam_search.translate(sources, search))
    out.push_back(text_of(target, found.front().words, true));
  return out;
}

BleuScore tokenised_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text) {
  std::vector<std::string> references;
  for (const std::string& line : text.references) references.push_back(join_subwords(line));
  return corpus_bleu(translations, references, {.tokenizer = BleuTokenizer::none});
}

}  // namespace nine
