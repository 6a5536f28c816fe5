// A recurrent tagger on an installed copy of Nine: defined in ten lines, trained, saved, reloaded.
//
// The task needs memory: a word is tagged `inside` while a bracket is open, and brackets do not
// nest.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "kernels/install_cuda.h"
#include "nn/nine.h"

using namespace nine;

constexpr int64_t
    kWords = 10,
    kTags = 3;  // words: 0 opens, 1 closes, others are plain; tags: outside, inside, bracket

// Step t of sentence b is element t * batch + b.
struct Batch {
  Tensor words, tags;
};

Batch make_batch(int64_t steps, int64_t batch, uint64_t seed) {
  Batch made{Tensor({steps, batch}, DType::int32), Tensor({steps, batch}, DType::int32)};
  RandomStream random({.seed = seed});
  for (int64_t b = 0; b < batch; ++b) {
    bool open = false;
    for (int64_t i = b; i < steps * batch; i += batch) {
      const bool bracket = random.uniform() < 0.2;
      made.words.data<int32_t>()[i] =
          bracket ? int32_t{open} : 2 + static_cast<int32_t>(random.below(kWords - 2));
      made.tags.data<int32_t>()[i] = bracket ? 2 : int32_t{open};
      if (bracket) open = !open;
    }
  }
  return made;
}

struct Tagger {
  ParameterSet parameters;
  Embedding words{parameters, "words", kWords, 16};
  Lstm lstm{parameters, "lstm", 16, 32, 1};
  Parameter& tags = parameters.add("tags.weight", {kTags, 32}, Init::normal(0.1));

  explicit Tagger(uint64_t seed) { parameters.allocate(DType::float32, seed); }
  Var states(Tape& tape, const Batch& b) const {
    return lstm(words(tape, b.words), b.words.shape().cols());
  }
  Var loss(Tape& tape, const Batch& b) const {
    const double row_weight = 1.0 / static_cast<double>(b.tags.elements());
    return kernel_softmax(parse_head("lin"), states(tape, b), {{tape.parameter(tags)}}, b.tags,
                          row_weight)
        .loss;
  }
  Var scores(Tape& tape, const Batch& b) const {
    return linear(states(tape, b), tape.parameter(tags));
  }
};

double accuracy(const Tensor& scores, const Tensor& tags) {
  const std::vector<double> s = scores.to_vector(), gold = tags.to_vector();
  int64_t right = 0;
  for (size_t i = 0; i < gold.size(); ++i) {
    const auto row = s.begin() + static_cast<long>(i) * kTags;
    if (std::max_element(row, row + kTags) - row == static_cast<long>(gold[i])) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(gold.size());
}

int main() try {
  install_cuda();  // a GPU could be used from here on; everything below runs on the CPU
  Tagger tagger(1);
  SimpleTrainer trainer(tagger.parameters, {.clip = 1});
  const Batch held_out = make_batch(20, 64, 1000000);
  const auto held_out_loss = [&](const Tagger& model) {
    return trainer.evaluate([&](Tape& tape) { return model.loss(tape, held_out); }).item();
  };

  const double before = held_out_loss(tagger);
  for (uint64_t update = 1; update <= 300; ++update) {
    const Batch batch = make_batch(20, 32, update);
    trainer.step(0.01, [&](Tape& tape) { return tagger.loss(tape, batch); });
  }
  const double after = held_out_loss(tagger);
  const double right = accuracy(
      trainer.evaluate([&](Tape& tape) { return tagger.scores(tape, held_out); }), held_out.tags);
  std::printf(
      "%lld parameters, 300 updates: loss %.4f -> %.4f nats a word, %.1f%% of the tags right\n",
      static_cast<long long>(tagger.parameters.count()), before, after, 100 * right);

  const std::filesystem::path file = "tagger.safetensors";
  tagger.parameters.save(file, {{"format", "pt"}});
  Tagger reloaded(2);
  reloaded.parameters.load(file);
  std::filesystem::remove(file);
  const double again = held_out_loss(reloaded);
  std::printf("saved and reloaded: loss %.17g, before %.17g\n", again, after);

  const bool good = std::abs(before - std::log(3.0)) < 0.1 && after < 0.05 && right > 0.98 &&
                    std::memcmp(&again, &after, sizeof after) == 0;
  std::puts(good ? "as expected" : "NOT as expected");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
