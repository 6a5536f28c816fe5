#include "nn/models/component_shares.h"

#include <algorithm>
#include <cmath>

namespace nine {

void component_shares(const LanguageModel& model, const Corpus& text, int64_t batch_tokens,
                      const std::function<void(int64_t, int64_t, const ComponentShares&)>& callback,
                      SentenceRange range) {
  const LanguageNetwork& network = model.network();
  const HeadSpec& head = network.head_config().spec;
  require(head.mixture, "[component_shares] the head ", head.to_text(), " is not a mixture");
  const int64_t size = head.size();
  Arena arena("score", model.device());
  Tape tape(arena);
  ComponentShares shares;
  const auto take = [&](const EncodedSentences& batch) {
    const SoftmaxLoss loss =
        batch.naming_sentences([&] { return network.loss(batch.hidden, batch.targets, 1.0); });
    const std::vector<double> log_prior = loss.prior.value().to_vector(),  // (rows, K)
        share = loss.share.value().to_vector();                            // (K, rows)
    network.head().require_log_p(
        {batch.targets.data<int32_t>(), static_cast<size_t>(batch.targets.elements())},
        loss.nll.value().to_vector(), concat("sentence ", batch.before + batch.first + 1));
    const int64_t rows = batch.hidden.shape().rows();
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t end = std::min(batch.begin + batch.rows, text.length(batch.first + c));
      for (int64_t t = batch.begin; t < end; ++t) {
        const int64_t row = (t - batch.begin) * batch.count + c;
        shares.prior.clear();
        shares.share.clear();
        for (int64_t k = 0; k < size; ++k) {
          shares.prior.push_back(std::exp(log_prior[static_cast<size_t>(row * size + k)]));
          shares.share.push_back(share[static_cast<size_t>(k * rows + row)]);
        }
        callback(batch.first + c, t, shares);
      }
    }
  };
  encode_sentences(network, tape, text, batch_tokens, take, range);
}

}  // namespace nine
