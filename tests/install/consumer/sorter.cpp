#include "sorter.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "nn/nine.h"

using namespace nine;

namespace {

// Sequences of kLength numbers below kNumbers. The target of a position is the number that stands
// there when the sequence is sorted.
constexpr int64_t kNumbers = 12, kLength = 6, kSize = 32;

struct Sequences {
  Tensor numbers, sorted;  // (batch, kLength)
};

Sequences draw(int64_t batch, uint64_t seed) {
  RandomStream random({.seed = seed});
  std::vector<int32_t> numbers, sorted;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < kLength; ++t)
      numbers.push_back(static_cast<int32_t>(random.below(kNumbers)));
    sorted.insert(sorted.end(), numbers.end() - kLength, numbers.end());
    std::sort(sorted.end() - kLength, sorted.end());
  }
  return {Tensor::from(numbers, {batch, kLength}), Tensor::from(sorted, {batch, kLength})};
}

struct Sorter {
  ParameterSet parameters{{.seed = 2}};
  LinearInit init{.weight = Init::xavier_uniform(), .bias = Init::zeros()};
  TransformerLayerConfig layer{.size = kSize,
                               .heads = 4,
                               .inner = 2 * kSize,
                               .style = {.activation = Activation::gelu, .norm = NormOrder::pre},
                               .init = init};
  Embedding words{parameters, "words", kNumbers, kSize, Init::normal(1)};
  Parameter& places = parameters.add("places", {kLength, kSize}, Init::normal(1));
  TransformerEncoderLayer first{parameters, "first", layer}, second{parameters, "second", layer};
  MultiHeadAttention look{parameters, "look", kSize, 4, init};
  FeedForward refine{parameters, "refine", kSize, 2 * kSize, Activation::gelu_tanh, init};
  LayerNorm norm{parameters, "norm", kSize};
  Linear output{parameters, "output", kSize, kNumbers, true, init};

  // (batch, kLength) to scores (batch * kLength, kNumbers).
  Var operator()(Tape& tape, const Tensor& numbers) const {
    const int64_t batch = numbers.shape().rows();
    std::vector<int32_t> place(static_cast<size_t>(batch * kLength));
    for (size_t i = 0; i < place.size(); ++i) place[i] = static_cast<int32_t>(i % kLength);
    const Var where = embedding(tape.parameter(places), Tensor::from(place, {batch * kLength}));
    Var x = reshape(words(tape, numbers), {batch * kLength, kSize}) + where;
    x = second(first(x, {.batch = batch}), {.batch = batch});
    x = x + 0.5 * look(x, {.batch = batch});
    return output(norm(x + refine(x) / 2));
  }
};

}  // namespace

bool learns_to_sort() {
  Sorter sorter;
  SimpleTrainer trainer(sorter.parameters, {.clip = 1});
  for (uint64_t update = 1; update <= 250; ++update) {
    const Sequences s = draw(32, update);
    trainer.step(0.003,
                 [&](Tape& tape) { return cross_entropy(sorter(tape, s.numbers), s.sorted); });
  }
  const Sequences unseen = draw(200, 1'000'000);
  const std::vector<double> p =
      trainer.evaluate([&](Tape& tape) { return softmax(sorter(tape, unseen.numbers)); })
          .to_vector();
  int64_t right = 0;
  for (int64_t i = 0; i < unseen.sorted.elements(); ++i) {
    const auto row = p.begin() + i * kNumbers;
    right += std::max_element(row, row + kNumbers) - row == unseen.sorted.data<int32_t>()[i];
  }
  const double share = static_cast<double>(right) / static_cast<double>(unseen.sorted.elements());
  std::printf("sorting: %.1f%% of the numbers in their place\n", 100 * share);
  return share > 0.9;
}
