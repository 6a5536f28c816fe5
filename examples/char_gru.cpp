// A character-level language model with a GRU: learns a text and continues it.
//
//   char_gru [UPDATES]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nn/nine.h"

using namespace nine;

constexpr int64_t kSteps = 32, kBatch = 16, kHidden = 128;
const std::string kText =
    "the quick brown fox jumps over the lazy dog. the lazy dog sleeps. "
    "the quick brown fox runs over the hill. the dog wakes and runs over the hill. "
    "the fox sleeps under the hill. the quick dog jumps over the lazy fox. ";
const std::string kLetters = " .abcdefghijklmnopqrstuvwxyz";

struct Model {
  ParameterSet parameters;
  Embedding letters{parameters, "letters", std::ssize(kLetters), 32};
  Gru gru{parameters, "gru", 32, kHidden};
  Linear output{parameters, "output", kHidden, std::ssize(kLetters)};

  // Maps ids (steps, batch) to the logits of the next letters; `state` goes from step to step.
  Var operator()(Tape& tape, const Tensor& ids, std::vector<Var>& state) const {
    return output(gru(letters(tape, ids), state));
  }
};

int32_t id(char c) { return static_cast<int32_t>(kLetters.find(c)); }

// Continues the text by `count` letters: each time the likeliest one.
std::string generate(const Model& model, std::string text, int count) {
  Arena arena("generate");
  Tape tape(arena);
  const NoGrad no_grad(tape);
  Tensor carried({1, kHidden}, DType::float32);  // the GRU's state
  for (size_t i = 0; count > 0; ++i, tape.reset()) {
    std::vector<Var> state{tape.constant(carried.clone())};
    const std::vector<double> logits =
        model(tape, Tensor::from<int32_t>({id(text[i])}, {1, 1}), state).value().to_vector();
    ops::copy(state[0].value(), carried);
    if (i + 1 < text.size()) continue;  // within the prompt
    text += kLetters[static_cast<size_t>(std::max_element(logits.begin(), logits.end()) -
                                         logits.begin())];
    --count;
  }
  return text;
}

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 150);
  Model model;
  SimpleTrainer trainer(model.parameters, {.clip = 1});
  RandomStream random({.seed = 1});
  double nats = 0;
  for (int update = 1; update <= updates; ++update) {
    // Excerpts from random places; a target is the letter that follows.
    Tensor ids({kSteps, kBatch}, DType::int32), targets({kSteps, kBatch}, DType::int32);
    for (int64_t b = 0; b < kBatch; ++b) {
      const size_t start = random.below(kText.size() - kSteps);
      for (int64_t t = 0; t < kSteps; ++t) {
        ids.data<int32_t>()[t * kBatch + b] = id(kText[start + static_cast<size_t>(t)]);
        targets.data<int32_t>()[t * kBatch + b] = id(kText[start + static_cast<size_t>(t) + 1]);
      }
    }
    nats = trainer.step(0.01, [&](Tape& tape) {
      std::vector<Var> state = model.gru.zero_state(tape, kBatch, DType::float32);
      return cross_entropy(model(tape, ids, state), targets);
    });
    if (update % 50 == 0)
      std::printf("update %4d  perplexity %.2f a letter\n", update, std::exp(nats));
  }
  std::printf("%s\n", generate(model, "the quick", 60).c_str());
  return updates < 150 || nats < 0.3 ? 0 : 1;
}
