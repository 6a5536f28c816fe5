#include "nn/models/language_network.h"

#include <algorithm>
#include <optional>

#include "core/ops.h"

namespace nine {

Var LanguageNetwork::regulariser(const Hidden& hidden, int64_t batch, double share,
                                 const Unpadded* unpadded) const {
  const double ar = activation_reg_, tar = temporal_reg_;
  if (!hidden.raw.tape().recording()) return {};
  const int64_t later = hidden.raw.shape().rows() - batch;
  const auto mean_square = [](const Var& x, const Tensor* rows, double weight) {
    const Var counted = rows != nullptr && *rows ? embedding(x, x.tape().on_device(*rows)) : x;
    return scale(sum_squares(counted), weight / static_cast<double>(counted.shape().elements()));
  };
  Var penalty;
  if (ar > 0)
    penalty = mean_square(hidden.output, unpadded ? &unpadded->rows : nullptr, ar * share);
  const double pair_share = unpadded ? unpadded->pair_share : share;
  if (tar > 0 && later > 0 && pair_share > 0) {
    const Var temporal =
        mean_square(sub(row_range(hidden.raw, batch, later), row_range(hidden.raw, 0, later)),
                    unpadded ? &unpadded->pairs : nullptr, tar * pair_share);
    penalty = penalty ? add(penalty, temporal) : temporal;
  }
  if (const Var norms = head().norm_regulariser(hidden.raw.tape(), share))
    penalty = penalty ? add(penalty, norms) : norms;
  return penalty;
}

bool has_tied_embeddings(const Safetensors& weights, const HeadSpec& head) {
  if (!weights.tensors.contains("head.weight")) return true;
  if (!head.untied) return false;
  const Shape own = weights.at("head.weight").shape();
  require(own.rank() == 3, "head.weight has shape ", own, ", but an untied head ", head.to_text(),
          " has word vectors for each component");
  return own[0] == head.size() - 1;
}

namespace {

class RecurrentDecoder final : public StepDecoder {
 public:
  explicit RecurrentDecoder(const LanguageNetwork& network) : network_(network) {}
  void start(int64_t slots) override { carried_.emplace(network_.new_state(slots)); }
  void begin(Tape& tape, int32_t slot) override {
    require(slot >= 0 && slot <= carried_->batch(), "[StepDecoder] slot ", slot, " of ",
            carried_->batch());
    tape.reset();
    if (slot == carried_->batch()) {
      CarriedState more = network_.new_state(slot + 1);
      carried_->on(tape, state_);
      more.store(state_);
      carried_.emplace(std::move(more));
    } else {
      const CarriedState fresh = network_.new_state(1);
      fresh.on(tape, state_);
      carried_->store(state_, slot);
    }
    state_.clear();
    tape.reset();
  }
  Var step(Tape& tape, std::span<const DecoderRow> rows) override {
    const int64_t batch = carried_->batch();
    std::vector<int64_t> counts(static_cast<size_t>(batch), 0);  // rows of each slot
    std::vector<int32_t> places;                                 // of each row in the output
    for (const DecoderRow& row : rows) {
      require(row.slot >= 0 && row.slot < batch, "[StepDecoder] slot ", row.slot, " of ", batch);
      int64_t& count = counts[static_cast<size_t>(row.slot)];
      places.push_back(static_cast<int32_t>(count++ * batch + row.slot));
    }
    const int64_t steps = *std::ranges::max_element(counts);
    require(std::ranges::all_of(counts, [&](int64_t c) { return c == 0 || c == steps; }),
            "[StepDecoder] a recurrent network reads equally many words into each slot of a step");
    const Tensor ids({steps, batch}, DType::int32);
    for (size_t r = 0; r < rows.size(); ++r) ids.data<int32_t>()[places[r]] = rows[r].word;
    carried_->on(tape, state_);
    const Var hidden = network_.encode(tape, ids, state_);
    carried_->store(state_);
    return embedding(hidden, tape.on_device(Tensor::from(places, {std::ssize(places)})));
  }
  void reorder(std::span<const int32_t> from) override { carried_->reorder(from); }

 private:
  const LanguageNetwork& network_;
  std::optional<CarriedState> carried_;
  std::vector<LstmState> state_;
};

}  // namespace

std::unique_ptr<StepDecoder> recurrent_decoder(const LanguageNetwork& network) {
  return std::make_unique<RecurrentDecoder>(network);
}

}  // namespace nine
