#include "nn/decoding_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "core/log_sum_exp.h"
#include "kernels/ops.h"

namespace nine {
namespace {

// Sets the probability of a word to 0, and scales the others so that they sum to 1.
void exclude(std::span<double> log_p, int32_t word) {
  log_p[static_cast<size_t>(word)] = -INFINITY;
  const auto at = [&](int64_t v) { return log_p[static_cast<size_t>(v)]; };
  const double rest = LogSumExp::of(std::ssize(log_p), at).value();
  for (double& x : log_p) x -= rest;
}

// Makes `sum`, with what `count` lists of log p are added to it, the log p of their mean.
void add_log_p(std::span<double> sum, std::span<const double> log_p) {
  for (size_t i = 0; i < sum.size(); ++i) {
    const double high = std::max(sum[i], log_p[i]), low = std::min(sum[i], log_p[i]);
    sum[i] = high == -INFINITY ? high : high + std::log1p(std::exp(low - high));
  }
}

}  // namespace

DecodingHead::DecodingHead(std::span<const SoftmaxHead* const> heads)
    : words_(heads.front()->words()) {
  for (const SoftmaxHead* head : heads) {
    require(head->words() == words_, "[DecodingHead] heads of ", words_, " and ", head->words(),
            " words cannot be combined");
    Head& own = heads_.emplace_back(Head{head});
    const HeadValues values = head->values();
    const View& w = values.w.front();
    if (w.device != kCpu) continue;
    if (w.dtype == DType::float64) {
      own.decoder.emplace<HeadDecoder<double>>(head->present_spec(), values);
    } else {
      own.decoder.emplace<HeadDecoder<float>>(head->present_spec(), values);
    }
  }
}

// Asks the HeadDecoder; returns false without one.
bool DecodingHead::ask(const Head& head, const Var& contexts, const Question& q, Memory& memory,
                       WordScores& answer) {
  const Tensor h = contexts.value();
  const auto run = [&]<class T>(const HeadDecoder<T>& decoder,
                                typename HeadDecoder<T>::Memory& own) {
    decoder({.h = h.data<T>(),
             .rows = h.shape().rows(),
             .k = q.k,
             .excluded = q.excluded,
             .targets = q.targets,
             .all = q.all,
             .draws = q.draws},
            own, answer);
    return true;
  };
  if (const auto* decoder = std::get_if<HeadDecoder<float>>(&head.decoder))
    return run(*decoder, memory.of_float_);
  if (const auto* decoder = std::get_if<HeadDecoder<double>>(&head.decoder))
    return run(*decoder, memory.of_double_);
  return false;
}

// Fills `log_p` with log p of every word.
void DecodingHead::all_of(const Head& head, const Var& contexts, Memory& memory,
                          std::vector<double>& log_p) {
  std::swap(memory.answer_.log_probs, log_p);
  const bool asked = ask(head, contexts, {.all = true}, memory, memory.answer_);
  std::swap(memory.answer_.log_probs, log_p);
  if (asked) return;
  log_p.clear();
  const int64_t rows = contexts.shape().rows();
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const Var part = row_range(contexts, first, std::min(ops::kHeadPanel, rows - first));
    const std::vector<double> of_part = head.head->log_probabilities(part).to_vector();
    log_p.insert(log_p.end(), of_part.begin(), of_part.end());
  }
}

void DecodingHead::best_words(Contexts contexts, int64_t k, int32_t excluded, Memory& memory,
                              WordScores& best) const {
  if (heads_.size() == 1 &&
      ask(heads_.front(), contexts.front(), {.k = k, .excluded = excluded}, memory, best))
    return;
  std::vector<double> log_p;
  all_log_probs(contexts, excluded, memory, log_p);
  best.words.clear();
  best.log_probs.clear();
  std::vector<int32_t> order(static_cast<size_t>(words_));
  for (size_t first = 0; first < log_p.size(); first += order.size()) {
    const double* row = log_p.data() + first;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int32_t a, int32_t b) {
      return row[a] > row[b] || (row[a] == row[b] && a < b);
    });
    for (int64_t i = 0; i < k; ++i) {
      best.words.push_back(order[static_cast<size_t>(i)]);
      best.log_probs.push_back(row[best.words.back()]);
    }
  }
}

bool DecodingHead::draws() const {
  return heads_.size() == 1 && independent_rows() && !heads_.front().head->present_spec().mixture;
}

void DecodingHead::draw_words(Contexts contexts, std::span<const Draw> draws, int32_t excluded,
                              Memory& memory, WordScores& drawn, std::vector<double>* log_p) const {
  const bool all = log_p != nullptr;
  require(ask(heads_.front(), contexts.front(), {.excluded = excluded, .all = all, .draws = draws},
              memory, drawn),
          "[DecodingHead] a head on a GPU draws no words");
  if (!all) return;
  std::swap(drawn.log_probs, *log_p);
  drawn.log_probs.clear();
  for (size_t r = 0; r < drawn.words.size(); ++r) {
    const auto word = static_cast<size_t>(std::max(0, drawn.words[r]));
    drawn.log_probs.push_back((*log_p)[r * static_cast<size_t>(words_) + word]);
  }
}

std::vector<double> DecodingHead::log_probs(Contexts contexts, std::span<const int32_t> targets,
                                            Memory& memory) const {
  std::vector<double> sum;
  for (size_t i = 0; i < heads_.size(); ++i) {
    WordScores answer;
    if (!ask(heads_[i], contexts[i], {.targets = targets}, memory, answer)) {
      const SoftmaxHead& head = *heads_[i].head;
      const std::vector<int32_t> ids(targets.begin(), targets.end());
      answer.log_probs =
          head.loss(contexts[i], Tensor::from(ids, {std::ssize(ids)}), 1).nll.value().to_vector();
      head.require_log_p(targets, answer.log_probs, "[DecodingHead]");
      for (double& x : answer.log_probs) x = -x;
    }
    if (i == 0) {
      sum = std::move(answer.log_probs);
    } else {
      add_log_p(sum, answer.log_probs);
    }
  }
  const double count = std::log(static_cast<double>(heads_.size()));
  for (double& x : sum) x -= count;
  return sum;
}

void DecodingHead::all_log_probs(Contexts contexts, int32_t excluded, Memory& memory,
                                 std::vector<double>& log_p) const {
  all_of(heads_.front(), contexts.front(), memory, log_p);
  std::vector<double> more;
  for (size_t i = 1; i < heads_.size(); ++i) {
    all_of(heads_[i], contexts[i], memory, more);
    add_log_p(log_p, more);
  }
  const double count = std::log(static_cast<double>(heads_.size()));
  for (size_t i = 0; i < log_p.size() && heads_.size() > 1; ++i) log_p[i] -= count;
  for (size_t first = 0; first < log_p.size() && excluded >= 0;
       first += static_cast<size_t>(words_))
    exclude({log_p.data() + first, static_cast<size_t>(words_)}, excluded);
}

}  // namespace nine
