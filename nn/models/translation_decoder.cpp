#include "nn/models/translation_decoder.h"

#include <algorithm>
#include <numeric>

#include "core/ops.h"

namespace nine {

TranslationDecoder::TranslationDecoder(const Transformer& model, const PackedWeights& packed)
    : model_(model), packed_(packed) {
  for (const TransformerDecoderLayer& layer : model.decoder_)
    caches_.push_back(layer.new_cache(model.dtype(), model.device()));
}

void TranslationDecoder::encode(Tape& tape, std::span<const std::vector<int32_t>> sources) {
  tape.reset();
  const UsePacked use(tape, packed_);
  first_.clear();
  counts_.clear();
  longest_ = 0;
  std::vector<int32_t> first, counts, places;  // of each word: its sentence's rows, its position
  std::vector<Var> sentences;
  for (const std::vector<int32_t>& words : sources) {
    const auto length = std::ssize(words);
    first_.push_back(static_cast<int32_t>(first.size()));
    counts_.push_back(static_cast<int32_t>(length));
    longest_ = std::max(longest_, length);
    first.insert(first.end(), words.size(), first_.back());
    counts.insert(counts.end(), words.size(), counts_.back());
    for (int32_t t = 0; t < counts_.back(); ++t) places.push_back(t);
    sentences.push_back(model_.embed(tape, *model_.src_embedding_, Tensor::from(words, {1, length}),
                                     "dropout.src_embedding"));
  }
  const int64_t rows = std::ssize(first);
  source_rows_ = Tensor({rows}, DType::int32);
  std::iota(source_rows_.data<int32_t>(), source_rows_.data<int32_t>() + rows, 0);
  source_rows_ = source_rows_.to(model_.device());
  const auto of_rows = [&](const std::vector<int32_t>& numbers) {
    return Tensor::from(numbers, {rows}).to(model_.device());
  };
  const AttentionMask mask{.lists = {source_rows_, of_rows(first), of_rows(counts)},
                           .places = of_rows(places)};
  const Tensor kept({rows, model_.config().dim}, model_.dtype(), model_.device());
  Var x = concat_rows(sentences);
  for (const TransformerEncoderLayer& layer : model_.encoder_) {
    // Releases what the layer before has computed, because sources may have many words.
    ops::copy(x.value(), kept);
    tape.reset();
    x = layer(tape.constant(kept), mask);
  }
  if (model_.encoder_norm_) x = (*model_.encoder_norm_)(x);
  for (size_t i = 0; i < caches_.size(); ++i) {
    caches_[i].memory.clear();
    model_.decoder_[i].store(x, caches_[i]);
  }
}

void TranslationDecoder::start(int64_t slots) {
  const int64_t sources = std::ssize(first_);
  require(sources > 0 && slots % sources == 0, "[TranslationDecoder] ", slots, " translations of ",
          sources, " sources");
  slots_of_source_ = slots / sources;
  read_.start(slots);
  for (auto& cache : caches_) cache.words.clear();
}

Var TranslationDecoder::step(Tape& tape, std::span<const DecoderRow> rows) {
  const UsePacked use(tape, packed_);
  const int64_t count = std::ssize(rows), place = count > 0 ? read_.length(rows[0].slot) : 0;
  read_.read(rows);
  require(
      std::ranges::all_of(read_.places(), [&](int32_t own) { return own == place; }),
      "[TranslationDecoder] a step reads one word of each text, and all texts have equally many");
  source_of_.clear();
  const Tensor ids({count, 1}, DType::int32), first({count}, DType::int32),
      counts({count}, DType::int32);
  for (int64_t r = 0; r < count; ++r) {
    const DecoderRow& row = rows[static_cast<size_t>(r)];
    const auto source = static_cast<size_t>(row.slot / slots_of_source_);
    source_of_.push_back(static_cast<int32_t>(source));
    ids.data<int32_t>()[r] = row.word;
    first.data<int32_t>()[r] = first_[source];
    counts.data<int32_t>()[r] = counts_[source];
  }
  const KeyLists words = read_.lists(tape),
                 memory{source_rows_, tape.on_device(first), tape.on_device(counts)};
  const Tensor weights =
      keep_attention_ ? Tensor({count, longest_}, model_.dtype(), model_.device()) : Tensor();
  Var x = model_.embed(tape, *model_.tgt_embedding_, ids, "dropout.tgt_embedding", place);
  for (size_t i = 0; i < caches_.size(); ++i)
    x = model_.decoder_[i].next(x, caches_[i], words, memory,
                                i + 1 == caches_.size() ? weights : Tensor(), place);
  if (keep_attention_) {
    const std::vector<double> numbers = weights.to_vector();
    attention_.assign(numbers.begin(), numbers.end());
  }
  return model_.decoder_norm_ ? (*model_.decoder_norm_)(x) : x;
}

std::span<const float> TranslationDecoder::attention(int64_t row) const {
  const int32_t source = source_of_[static_cast<size_t>(row)];
  return {attention_.data() + row * longest_,
          static_cast<size_t>(counts_[static_cast<size_t>(source)])};
}

}  // namespace nine
