// Computes log-probabilities, scores and the prior of a head for every word
// (kernels/loss/kernel_softmax.h).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops.h"
#include "kernels/loss/head_blocks.h"

namespace nine {
namespace {

// Runs f(block, first row, arena) over blocks for which ops::head_scores has run.
template <class F>
void read_blocks(const char* op, const HeadSpec& head, const Var& h, const HeadWeights& weights,
                 const Tensor& targets, F&& f) {
  Arena& arena = h.tape().arena();
  HeadBlocks blocks(op, head, h, weights, false);
  const Arena::Scope scope(arena);
  const Tensor none = arena.temporary({blocks.rows()}, DType::int32);
  ops::fill(none, -1);
  const Tensor log_prior =
      blocks.mixture() ? arena.temporary({blocks.rows(), blocks.size()}, h.dtype()) : Tensor();
  blocks.start(targets ? targets.view() : none.view(), {}, HeadMemory::tiles, 0,
               log_prior ? log_prior.view() : View{}, {});
  blocks.for_blocks([&](const ops::HeadBlock& block, int64_t first) {
    ops::head_scores(block, arena);
    f(block, first, arena);
  });
}

int64_t words_of(const HeadSpec& head, const HeadWeights& weights) {
  int64_t all = 0;
  for (const Var& w : weights.w) all += w.shape().rows();
  return head.untied ? all / head.size() : all;
}

}  // namespace

Tensor log_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights) {
  const int64_t words = words_of(head, weights);
  Tensor out({h.shape().rows(), words}, DType::float64);
  read_blocks("log_probabilities", head, h, weights, {},
              [&](const ops::HeadBlock& block, int64_t first, Arena& arena) {
                const Tensor part = arena.temporary({block.rows(), words}, DType::float64);
                ops::head_inference(block, part, {}, arena);
                ops::copy(part, out.row_range(first, block.rows()));
              });
  return out;
}

Tensor component_scores(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                        const Tensor& targets) {
  const int64_t words = words_of(head, weights), rows = h.shape().rows();
  Tensor out({head.size(), rows, words}, DType::float64);
  const View all = out.view().reshaped({head.size() * rows, words});
  read_blocks(
      "component_scores", head, h, weights, targets,
      [&](const ops::HeadBlock& block, int64_t first, Arena& arena) {
        const Tensor part = arena.temporary({head.size() * block.rows(), words}, DType::float64);
        ops::head_inference(block, {}, part, arena);
        for (int64_t k = 0; k < head.size(); ++k)
          ops::copy(part.row_range(k * block.rows(), block.rows()),
                    all.row_range(k * rows + first, block.rows()));
      });
  return out;
}

Tensor prior_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights) {
  const int64_t rows = h.shape().rows(), size = head.size();
  Tensor out({rows, size}, DType::float64);
  ops::fill(out, 1);
  if (!head.mixture) return out;
  Arena& arena = h.tape().arena();
  const Arena::Scope scope(arena);
  const Tensor logits = arena.temporary({rows, size}, h.dtype()),
               log_prior = arena.temporary({rows, size}, h.dtype());
  ops::matmul(h.value().view().reshaped({rows, h.shape().cols()}), false, weights.prior.value(),
              true, {logits});
  ops::log_softmax(logits, log_prior);
  const std::vector<double> values = log_prior.to_vector();
  std::transform(values.begin(), values.end(), out.data<double>(),
                 [](double x) { return std::exp(x); });
  return out;
}

WordScores top_words(const HeadSpec& head, const Var& h, const HeadWeights& weights, int64_t k) {
  const int64_t words = words_of(head, weights);
  require(k >= 1 && k <= words, "[top_words] cannot return the best ", k, " of ", words, " words");
  WordScores out;
  std::vector<int32_t> order(static_cast<size_t>(words));
  read_blocks("top_words", head, h, weights, {},
              [&](const ops::HeadBlock& block, int64_t, Arena& arena) {
                const Tensor part = arena.temporary({block.rows(), words}, DType::float64);
                ops::head_inference(block, part, {}, arena);
                const std::vector<double> values = part.to_vector();
                for (int64_t r = 0; r < block.rows(); ++r) {
                  const double* p = values.data() + r * words;
                  std::iota(order.begin(), order.end(), 0);
                  std::partial_sort(
                      order.begin(), order.begin() + k, order.end(),
                      [&](int32_t a, int32_t b) { return p[a] > p[b] || (p[a] == p[b] && a < b); });
                  for (int64_t i = 0; i < k; ++i) {
                    out.words.push_back(order[static_cast<size_t>(i)]);
                    out.log_probs.push_back(p[order[static_cast<size_t>(i)]]);
                  }
                }
              });
  return out;
}

}  // namespace nine
