#include "nn/training/translation_validation.h"

#include <algorithm>
#include <numeric>

#include "nn/models/shared_search.h"
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

namespace {

// Batch j is rank j mod P's. Each leaves a record of numbers: nats, tokens, sums of a mixture's
// weights; they are added in the order of the batches.
class BatchRecords {
 public:
  BatchRecords(int64_t batches, const MixtureWeightStats& weights, Communicator& communicator)
      : communicator_(communicator),
        sums_(weights.sums() ? weights.sums().elements() : 0),
        per_rank_((batches + communicator.size() - 1) / communicator.size()),
        all_(static_cast<size_t>(communicator.size() * per_rank_ * (2 + sums_))) {}

  bool own(int64_t batch) const { return batch % communicator_.size() == communicator_.rank(); }
  double* of(int64_t batch) {
    const int64_t rank = batch % communicator_.size(), place = batch / communicator_.size();
    return all_.data() + (rank * per_rank_ + place) * (2 + sums_);
  }
  void gather() {
    communicator_.all_gather(all_.data(),
                             per_rank_ * (2 + sums_) * static_cast<int64_t>(sizeof(double)));
  }
  int64_t sums() const { return sums_; }

 private:
  Communicator& communicator_;
  int64_t sums_, per_rank_;
  std::vector<double> all_;
};

}  // namespace

Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size, Communicator& communicator) {
  const NoGrad guard(tape);
  if (size.tokens > 0) size.tokens = std::max(size.tokens, pairs.longest());
  PairBatches batches(pairs, size, std::nullopt);
  const int64_t count = batches.steps();
  Evaluation result;
  result.mixture_weights = MixtureWeightStats::of(model.config().head.spec);
  BatchRecords records(count, result.mixture_weights, communicator);
  PairBatch batch;
  for (int64_t j = 0; batches.next(batch); ++j) {
    if (!records.own(j)) continue;
    tape.reset();
    const TranslationBatch b = to_translation_batch(batch);
    const SoftmaxLoss out = model.loss(tape, b, 1.0);
    const std::vector<double> nats = out.nll.value().to_vector();
    double* record = records.of(j);
    record[0] = std::accumulate(nats.begin(), nats.end(), 0.0);
    record[1] = static_cast<double>(b.tokens);
    if (!out.prior) continue;
    MixtureWeightStats weights = result.mixture_weights.zeros();
    weights.add(out.prior.value(), b.tgt_out);
    std::copy_n(weights.sums().data<double>(), records.sums(), record + 2);
  }
  tape.reset();
  records.gather();
  for (int64_t j = 0; j < count; ++j) {
    const double* record = records.of(j);
    result.nats += record[0];
    result.tokens += static_cast<int64_t>(record[1]);
    for (int64_t i = 0; i < records.sums(); ++i)
      result.mixture_weights.sums().data<double>()[i] += record[2 + i];
  }
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
                                         const Vocabulary& target, const SearchOptions& search,
                                         Communicator& communicator) {
  std::vector<BeamSearch::Ids> sources;
  for (int64_t i = 0; i < pairs.pairs(); ++i) sources.push_back(source_words(pairs, i));
  std::vector<std::string> out;
  for (const Translation& found : shared_translate(beam_search, sources, search, {}, communicator))
    out.push_back(text_of(target, found.front().words, true));
  return out;
}

BleuScore tokenised_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text) {
  std::vector<std::string> references;
  for (const std::string& line : text.references) references.push_back(join_subwords(line));
  return corpus_bleu(translations, references, {.tokenizer = BleuTokenizer::none});
}

}  // namespace nine
