#include "nn/training/translation_task.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "core/ops.h"
#include "nn/models/shared_search.h"

namespace nine {

TranslationSource::TranslationSource(const Transformer& model, NextBatch next,
                                     std::optional<MicroBatchSlots> own)
    : model_(model),
      next_(std::move(next)),
      own_(own),
      mixture_weights_(
          MixtureWeightStats::of(model.config().head.spec, model.parameters().device())) {}

int64_t TranslationSource::fetch(int most) {
  batches_.clear();
  count_ = 0;
  int64_t tokens = 0;
  double weights = 0;
  TranslationBatch batch;
  for (; count_ < most && next_(batch); ++count_) {
    tokens += batch.tokens;
    if (batch.factors)
      weights = std::accumulate(batch.factors.data<double>(),
                                batch.factors.data<double>() + batch.factors.elements(), weights);
    if (!own_ || own_->has(count_)) batches_.push_back(batch);
  }
  require(tokens > 0,
          "[TranslationSource] there are no targets to predict: the source has ended, or gave "
          "batches without targets");
  // As in LanguageModelTask::set_factors.
  for (const TranslationBatch& own : batches_)
    if (weights > 0) ops::scale(static_cast<double>(tokens) / weights, own.factors, {own.factors});
  return tokens;
}

TrainingSource::Objective TranslationSource::forward(Tape& tape, int i, double row_weight) {
  const TranslationBatch& b = batch(i);
  const SoftmaxLoss out = model_.loss(tape, b, row_weight);
  const Var penalty = model_.regulariser(tape, row_weight * static_cast<double>(b.tokens));
  if (out.prior) mixture_weights_.add(out.prior.value(), b.tgt_out);
  return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
}

void TranslationSource::statistics(std::vector<StepStatistic>& out) {
  add_head_statistics(model_.head(), mixture_weights_, out);
}

TranslationBatch to_translation_batch(const PairBatch& b) {
  return {.src = Tensor::from(b.src, {b.pairs, b.src_cols}),
          .tgt_in = Tensor::from(b.tgt_in, {b.pairs, b.tgt_cols}),
          .tgt_out = Tensor::from(b.tgt_out, {b.pairs, b.tgt_cols}),
          .src_lengths = Tensor::from(b.src_lengths, {b.pairs}),
          .tgt_lengths = Tensor::from(b.tgt_lengths, {b.pairs}),
          .tokens = std::accumulate(b.tgt_lengths.begin(), b.tgt_lengths.end(), int64_t{0}),
          .factors = b.weight.empty() ? Tensor() : Tensor::from(b.weight, {b.pairs, b.tgt_cols})};
}

namespace {

// Rank j mod P computes batch j. Each batch gives a record of numbers: nats, tokens and sums of a
// mixture's weights. The records are added in the order of the batches.
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
                                         const TranslationSide& target, const SearchOptions& search,
                                         Communicator& communicator) {
  std::vector<BeamSearch::Ids> sources;
  for (int64_t i = 0; i < pairs.pairs(); ++i) sources.push_back(source_words(pairs, i));
  std::vector<std::string> out;
  for (const Translation& found : shared_translate(beam_search, sources, search, {}, communicator))
    out.push_back(target.text(found.front().words, true));
  return out;
}

BleuScore validation_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text,
                          bool raw) {
  if (raw) return corpus_bleu(translations, text.references);
  std::vector<std::string> references;
  for (const std::string& line : text.references) references.push_back(join_subwords(line));
  return corpus_bleu(translations, references, {.tokenizer = BleuTokenizer::none});
}

namespace {

// The most tokens of a sample's source; a larger attention map would be unreadable.
constexpr int64_t kLongestSample = 30;

Json json_tokens(const Vocabulary& dictionary, std::span<const int32_t> ids) {
  Json out = Json::array();
  for (const int32_t id : ids) out.push_back(dictionary.word(id));
  return out;
}

// Returns the attention in thousandths, one row for each word of the translation.
Json thousandths(const std::vector<float>& attention, size_t rows) {
  Json out = Json::array();
  const size_t columns = rows > 0 ? attention.size() / rows : 0;
  for (size_t r = 0; r < rows; ++r) {
    Json row = Json::array();
    for (size_t c = 0; c < columns; ++c)
      row.push_back(std::lround(1000 * attention[r * columns + c]));
    out.push_back(row);
  }
  return out;
}

}  // namespace

TranslationTask::TranslationTask(const Transformer& model, const ParallelCorpus& train,
                                 const TranslationValidationConfig& validation, PairBatchSize size,
                                 uint64_t seed, std::optional<MicroBatchSlots> own)
    : TranslationTask(model, validation, size, std::make_unique<PairBatches>(train, size, seed),
                      own) {}

TranslationTask::TranslationTask(const Transformer& model,
                                 const TranslationValidationConfig& validation, PairBatchSize size,
                                 std::unique_ptr<PairBatches> stream,
                                 std::optional<MicroBatchSlots> own)
    : EpochTask(*stream),
      model_(model),
      validation_(validation),
      size_(size),
      stream_(std::move(stream)),
      source_(
          model,
          [this](TranslationBatch& out) {
            if (!stream_->next(batch_)) return false;
            out = to_translation_batch(batch_);
            return true;
          },
          own) {
  if (has_validation() && validation_.beam > 0) choose_samples();
}

std::vector<NamedView> TranslationTask::state() {
  std::vector<NamedView> all = source_.mixture_weight_stats().named();
  for (const NamedView& sums : head_sums(model_.head())) all.push_back(sums);
  return all;
}

void TranslationTask::load_state(const Safetensors& file) {
  source_.mixture_weight_stats().load(file);
  load_head_sums(model_.head(), file);
}

Evaluation TranslationTask::validate(Tape& tape) {
  Communicator& all =
      validation_.communicator != nullptr ? *validation_.communicator : one_process();
  Evaluation result = evaluate_pairs(model_, tape, validation_.text->pairs, size_, all);
  if (validation_.beam == 0) return result;
  const BeamSearch beam_search(model_);
  SearchOptions search = validation_search(validation_.text->pairs, validation_.beam);
  const auto translations =
      translate_pairs(beam_search, validation_.text->pairs, *validation_.target, search, all);
  result.bleu =
      validation_bleu(translations, *validation_.text, validation_.target->tokenizer.has_value())
          .score;
  sample_translations_.clear();
  search.attention = true;
  for (const Translation& found : beam_search.translate(sample_sources(), search))
    sample_translations_.push_back(found.front());
  return result;
}

// Chooses the same samples at every validation, spread over the text, so that the log shows their
// improvement.
void TranslationTask::choose_samples() {
  const ParallelCorpus& pairs = validation_.text->pairs;
  std::vector<int64_t> fit;
  for (int64_t i = 0; i < pairs.pairs(); ++i)
    if (pairs.source_length(i) > 1 && pairs.source_length(i) <= kLongestSample) fit.push_back(i);
  const int64_t count = std::min(validation_.samples, std::ssize(fit));
  for (int64_t i = 0; i < count; ++i)
    samples_.push_back(fit[static_cast<size_t>(i * std::ssize(fit) / count)]);
}

std::vector<BeamSearch::Ids> TranslationTask::sample_sources() const {
  std::vector<BeamSearch::Ids> out;
  for (const int64_t i : samples_) out.push_back(source_words(validation_.text->pairs, i));
  return out;
}

std::vector<Json> TranslationTask::validation_samples() const {
  const std::vector<BeamSearch::Ids> sources = sample_sources();
  std::vector<Json> events;
  for (size_t i = 0; i < sample_translations_.size(); ++i) {
    const std::vector<int32_t>& words = sample_translations_[i].words;
    const std::string& reference = validation_.text->references[static_cast<size_t>(samples_[i])];
    events.push_back({{"event", "translation"},
                      {"line", validation_.text->pairs.line(samples_[i])},
                      {"src", validation_.source->text(sources[i], true)},
                      {"ref", validation_.target->tokenizer ? reference : join_subwords(reference)},
                      {"hyp", validation_.target->text(words, true)},
                      {"src_tokens", json_tokens(validation_.source->dictionary, sources[i])},
                      {"hyp_tokens", json_tokens(validation_.target->dictionary, words)},
                      {"attention", thousandths(sample_translations_[i].attention, words.size())}});
  }
  return events;
}

}  // namespace nine
