#include "nn/training/translation_task.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "nn/models/translation_text.h"

namespace nine {
namespace {

// Most tokens of a sample's source: a larger map of attention cannot be read.
constexpr int64_t kLongestSample = 30;

Json json_tokens(const Vocabulary& dictionary, std::span<const int32_t> ids) {
  Json out = Json::array();
  for (const int32_t id : ids) out.push_back(dictionary.word(id));
  return out;
}

// A row for each word of the translation: the attention in thousandths.
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
  if (const HeadStats* stats = model_.head().stats(); stats != nullptr)
    for (const NamedView& sums : stats->named()) all.push_back(sums);
  return all;
}

void TranslationTask::load_state(const Safetensors& file) {
  source_.mixture_weight_stats().load(file);
  if (HeadStats* stats = model_.head().stats(); stats != nullptr) stats->load(file);
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
  result.bleu = tokenised_bleu(translations, *validation_.text).score;
  sample_translations_.clear();
  search.attention = true;
  for (const Translation& found : beam_search.translate(sample_sources(), search))
    sample_translations_.push_back(found.front());
  return result;
}

// The same samples at every validation, spread over the text, so that their improvement shows.
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
    events.push_back(
        {{"event", "translation"},
         {"line", validation_.text->pairs.line(samples_[i])},
         {"src", text_of(*validation_.source, sources[i], true)},
         {"ref", join_subwords(validation_.text->references[static_cast<size_t>(samples_[i])])},
         {"hyp", text_of(*validation_.target, words, true)},
         {"src_tokens", json_tokens(*validation_.source, sources[i])},
         {"hyp_tokens", json_tokens(*validation_.target, words)},
         {"attention", thousandths(sample_translations_[i].attention, words.size())}});
  }
  return events;
}

}  // namespace nine
