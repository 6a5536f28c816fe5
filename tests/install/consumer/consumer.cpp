// A project of somebody else's, on an installed copy of Nine: trains models of its own, and opens
// models that Nine's programs trained.
//
//   consumer                             trains a tagger and a sorter
//   consumer score|tokens|generate|translate DIR FILE
//   consumer top DIR FILE COUNT
//   consumer score-given DIR SOURCES TARGETS
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "nn/nine.h"
#include "sorter.h"
#include "trained_models.h"

using namespace nine;

// A recurrent tagger. The task needs memory: a word is tagged `inside` while a bracket is open, and
// brackets do not nest.
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
  Lstm lstm{parameters, "lstm", 16, 32};
  SoftmaxHead tags{parameters, "tags", {.spec = parse_head("mix:lin,log")}, kTags, 32};

  explicit Tagger(uint64_t seed) : parameters({.seed = seed}) {}
  Var states(Tape& tape, const Batch& b) const {
    return lstm(words(tape, b.words), b.words.shape().cols());
  }
  Var loss(Tape& tape, const Batch& b) const { return tags.loss(states(tape, b), b.tags); }
  // The likeliest tag of each word.
  std::vector<int32_t> guess(const Batch& b) const {
    Arena pool("guess");
    Tape tape(pool);
    const NoGrad no_grad(tape);
    return tags.top_words(states(tape, b), 1).words;
  }
};

double accuracy(const std::vector<int32_t>& guesses, const Tensor& tags) {
  int64_t right = 0;
  for (size_t i = 0; i < guesses.size(); ++i) right += guesses[i] == tags.data<int32_t>()[i];
  return static_cast<double>(right) / static_cast<double>(guesses.size());
}

bool learns_to_tag() {
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
  const double right = accuracy(tagger.guess(held_out), held_out.tags);
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

  return std::abs(before - std::log(3.0)) < 0.1 && after < 0.05 && right > 0.98 &&
         std::memcmp(&again, &after, sizeof after) == 0;
}

// An update that overflows changes nothing and says what to do.
bool errors_say_what_to_do() {
  try {
    ParameterSet parameters;
    const Linear layer(parameters, "layer", 2, 2);
    SimpleTrainer trainer(parameters);
    trainer.step(1e30, [&](Tape& tape) {
      return sum(exp(1e30 * layer(tape.constant(Tensor::from<float>({1, 1}, {1, 2})))));
    });
  } catch (const Error& error) {
    std::puts(error.what());
    return std::string(error.what()).find("lower the learning rate") != std::string::npos;
  }
  return false;
}

void print_for(const std::vector<std::string>& args) {
  const std::string& what = args[0];
  const size_t count = what == "top" || what == "score-given" ? 4 : 3;
  require(args.size() == count, what, " takes ", count - 1, " arguments");
  if (what == "score" || what == "tokens") return print_scores(args[1], args[2], what == "tokens");
  if (what == "generate") return print_continuations(args[1], args[2]);
  if (what == "top") return print_top_words(args[1], args[2], std::stoi(args[3]));
  if (what == "translate") return print_translations(args[1], args[2]);
  if (what == "score-given") return print_translation_scores(args[1], args[2], args[3]);
  fail("'", what, "' is not a command of this program");
}

int main(int argc, char** argv) try {
  install_cuda();  // a GPU could be used from here on; everything below runs on the CPU
  if (argc > 1) {
    in_team([&] { print_for({argv + 1, argv + argc}); });
    return 0;
  }
  const bool good = learns_to_tag() && learns_to_sort() && errors_say_what_to_do();
  std::puts(good ? "as expected" : "NOT as expected");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
