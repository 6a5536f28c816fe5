#include "nn/decoding_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "core/log_sum_exp.h"
#include "core/ops.h"
#include "kernels/ops.h"

namespace nine {
namespace {

// Sets the probability of a word to 0, and scales the others so that they sum to 1.
void exclude(std::span<double> log_p, int32_t word) {
  log_p[static_cast<size_t>(word)] = -INFINITY;
  const double rest = LogSumExp::of(std::ssize(log_p), [&](int64_t v) {
                        return log_p[static_cast<size_t>(v)];
                      }).value();
  for (double& x : log_p) x -= rest;
}

}  // namespace

DecodingHead::DecodingHead(const SoftmaxHead& head)
    : head_(head), words_(head.words()), mixture_(head.present_spec().mixture) {
  const HeadValues values = head.values();
  const View& w = values.w.front();
  if (w.device != kCpu) return;
  if (w.dtype == DType::float64) {
    decoder_.emplace<HeadDecoder<double>>(head.present_spec(), values);
  } else {
    decoder_.emplace<HeadDecoder<float>>(head.present_spec(), values);
  }
}

// Asks the HeadDecoder; returns false without one.
bool DecodingHead::run(const Var& contexts, int64_t k, int32_t excluded,
                       std::span<const int32_t> targets, bool all, Memory& memory,
                       WordScores& answer) const {
  const Tensor h = contexts.value();
  const auto ask = [&]<class T>(const HeadDecoder<T>& decoder,
                                typename HeadDecoder<T>::Memory& own) {
    decoder({.h = h.data<T>(),
             .rows = h.shape().rows(),
             .k = k,
             .excluded = excluded,
             .targets = targets,
             .all = all},
            own, answer);
    return true;
  };
  if (const auto* decoder = std::get_if<HeadDecoder<float>>(&decoder_))
    return ask(*decoder, memory.of_float_);
  if (const auto* decoder = std::get_if<HeadDecoder<double>>(&decoder_))
    return ask(*decoder, memory.of_double_);
  return false;
}

void DecodingHead::best_words(const Var& contexts, int64_t k, int32_t excluded, Memory& memory,
                              WordScores& best) const {
  if (run(contexts, k, excluded, {}, false, memory, best)) return;
  std::vector<double> log_p;
  all_log_probs(contexts, excluded, memory, log_p);
  best.words.clear();
  best.log_probs.clear();
  std::vector<int32_t> order(static_cast<size_t>(words_));
  for (size_t first = 0; first < log_p.size(); first += order.size()) {
    const double* row = log_p.data() + first;
    std::iota(order.begin(), order.end(), 0);
    const auto at = [&](int32_t v) { return row[v]; };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int32_t a, int32_t b) {
      return at(a) > at(b) || (at(a) == at(b) && a < b);
    });
    for (int64_t i = 0; i < k; ++i) {
      best.words.push_back(order[static_cast<size_t>(i)]);
      best.log_probs.push_back(at(best.words.back()));
    }
  }
}

std::vector<double> DecodingHead::log_probs(const Var& contexts, std::span<const int32_t> targets,
                                            Memory& memory) const {
  WordScores answer;
  if (run(contexts, 0, -1, targets, false, memory, answer)) return answer.log_probs;
  const Tensor ids =
      Tensor::from(std::vector<int32_t>(targets.begin(), targets.end()), {std::ssize(targets)});
  std::vector<double> nats = head_.loss(contexts, ids, 1).nll.value().to_vector();
  head_.require_log_p(targets, nats, "[DecodingHead]");
  for (double& x : nats) x = -x;
  return nats;
}

void DecodingHead::all_log_probs(const Var& contexts, int32_t excluded, Memory& memory,
                                 std::vector<double>& log_p) const {
  // A HeadDecoder loses the words of a mixture whose probability is tiny.
  if (independent_rows(true)) {
    WordScores answer;
    answer.log_probs = std::move(log_p);
    run(contexts, 0, excluded, {}, true, memory, answer);
    log_p = std::move(answer.log_probs);
    return;
  }
  log_p.clear();
  const int64_t rows = contexts.shape().rows();
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const std::vector<double> part =
        head_.log_probabilities(row_range(contexts, first, std::min(ops::kHeadPanel, rows - first)))
            .to_vector();
    log_p.insert(log_p.end(), part.begin(), part.end());
  }
  for (int64_t r = 0; r < rows && excluded >= 0; ++r)
    exclude({log_p.data() + r * words_, static_cast<size_t>(words_)}, excluded);
}

}  // namespace nine
