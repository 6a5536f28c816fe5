#include "nn/models/word_expectations.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/ops.h"
#include "kernels/ops.h"

namespace nine {
namespace {

// Returns the expectation of one row of log-probabilities with the actual word `target`. Ties go to
// the lower word id.
WordExpectation expectation_of(std::span<const double> log_p, int32_t target, size_t count) {
  const auto at = [&](int32_t v) { return log_p[static_cast<size_t>(v)]; };
  const auto likelier = [&](int32_t a, int32_t b) {
    return at(a) != at(b) ? at(a) > at(b) : a < b;
  };
  WordExpectation p{at(target), 1, std::vector<int32_t>(log_p.size()), {}};
  std::iota(p.top.begin(), p.top.end(), 0);
  p.rank +=
      std::count_if(p.top.begin(), p.top.end(), [&](int32_t v) { return likelier(v, target); });
  std::partial_sort(p.top.begin(), p.top.begin() + static_cast<std::ptrdiff_t>(count), p.top.end(),
                    likelier);
  p.top.resize(count);
  p.top.shrink_to_fit();
  for (const int32_t v : p.top) p.top_log_p.push_back(at(v));
  return p;
}

// Returns the expectations at every position of a batch, row by row. Computes a few rows of
// log-probabilities at a time.
std::vector<WordExpectation> expectations_of(const LanguageNetwork& model,
                                             const EncodedSentences& batch, size_t count) {
  const int32_t* target = batch.targets.data<int32_t>();
  const int64_t rows = batch.targets.elements(), words = model.vocab();
  std::vector<WordExpectation> positions(static_cast<size_t>(rows));
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const int64_t part = std::min(ops::kHeadPanel, rows - first);
    const Tensor log_p = model.log_probabilities(row_range(batch.hidden, first, part));
    for (int64_t r = 0; r < part; ++r)
      if (target[first + r] >= 0)
        positions[static_cast<size_t>(first + r)] =
            expectation_of({log_p.data<double>() + r * words, static_cast<size_t>(words)},
                           target[first + r], count);
  }
  return positions;
}

}  // namespace

void word_expectations(
    const LanguageModel& model, const Corpus& text, int64_t count, int64_t batch_tokens,
    const std::function<void(int64_t, int64_t, const WordExpectation&)>& callback,
    SentenceRange range) {
  require(count >= 0, "[word_expectations] ", count, " likeliest words: must be at least 0");
  const LanguageNetwork& network = model.network();
  const auto top_count = static_cast<size_t>(std::min(count, network.vocab()));
  Arena arena("score", model.device());
  Tape tape(arena);
  const auto take = [&](const EncodedSentences& batch) {
    const std::vector<WordExpectation> positions =
        batch.naming_sentences([&] { return expectations_of(network, batch, top_count); });
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t sentence = batch.first + c,
                    end = std::min(batch.begin + batch.rows, text.length(sentence));
      for (int64_t t = batch.begin; t < end; ++t)
        callback(sentence, t, positions[static_cast<size_t>((t - batch.begin) * batch.count + c)]);
    }
  };
  encode_sentences(network, tape, text, batch_tokens, take, range);
}

}  // namespace nine
