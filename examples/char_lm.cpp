// A character-level language model: an LSTM that learns a text, then generates more of it.
//
//   char_lm [--text FILE] [--updates N] [--generate N]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "nn/nine.h"

using namespace nine;

// An update's batch: 16 excerpts of 32 characters.
constexpr int64_t kSteps = 32, kBatch = 16;

const char* const kText =
    "the quick brown fox jumps over the lazy dog. the lazy dog sleeps. "
    "the quick brown fox runs over the hill. the dog wakes and runs over the hill. "
    "the fox sleeps under the hill. the quick dog jumps over the lazy fox. ";

struct Options {
  std::string text;
  int64_t updates = 300, generate = 120;
};

int64_t number(const std::string& option, const std::string& text) {
  require(!text.empty() && text.size() < 10 &&
              text.find_first_not_of("0123456789") == std::string::npos,
          option, " ", text, ": not a number");
  return std::stoll(text);
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--text") {
      std::ifstream file(value, std::ios::binary);
      require(file.good(), "cannot read '", value, "'");
      o.text.assign(std::istreambuf_iterator<char>(file), {});
    } else if (option == "--updates") {
      o.updates = number(option, value);
    } else if (option == "--generate") {
      o.generate = number(option, value);
    } else {
      fail("unknown option ", option, "; there are --text FILE, --updates N, --generate N");
    }
  }
  if (o.text.empty()) o.text = kText;
  require(o.text.size() > kSteps, "a text of ", o.text.size(),
          " characters is too short; it takes more than ", kSteps);
  return o;
}

struct CharModel {
  std::string alphabet;  // the different characters of the text; a character's id is its index
  ParameterSet parameters;
  Embedding characters;
  Lstm lstm;
  Linear output;

  explicit CharModel(std::string letters, int64_t hidden = 96)
      : alphabet(std::move(letters)),
        characters(parameters, "characters", size(), 32),
        lstm(parameters, "lstm", 32, hidden, 1),
        output(parameters, "output", hidden, size()) {}
  int64_t size() const { return static_cast<int64_t>(alphabet.size()); }
  int32_t id(char c) const { return static_cast<int32_t>(alphabet.find(c)); }

  // ids (steps, batch) to log-probabilities of the next character, (steps * batch, alphabet).
  // `carried` is the LSTM's state before the first step; it is replaced by the one after the last.
  Var operator()(Tape& tape, const Tensor& ids, CarriedState& carried) const {
    std::vector<LstmState> state;
    carried.on(tape, state);
    const Var y = log_softmax(output(lstm(characters(tape, ids), state)));
    carried.store(state);
    return y;
  }
};

std::string letters_of(std::string text) {
  std::sort(text.begin(), text.end());
  text.erase(std::unique(text.begin(), text.end()), text.end());
  return text;
}

// ids (steps, batch) of excerpts from random places; targets are the characters that follow each.
struct Excerpts {
  Tensor ids, targets;
};
Excerpts draw(const CharModel& model, const std::string& text, RandomStream& random) {
  Excerpts e{Tensor({kSteps, kBatch}, DType::int32), Tensor({kSteps, kBatch}, DType::int32)};
  for (int64_t b = 0; b < kBatch; ++b) {
    const size_t start = random.below(text.size() - kSteps);
    for (int64_t t = 0; t < kSteps; ++t) {
      e.ids.data<int32_t>()[t * kBatch + b] = model.id(text[start + static_cast<size_t>(t)]);
      e.targets.data<int32_t>()[t * kBatch + b] =
          model.id(text[start + static_cast<size_t>(t) + 1]);
    }
  }
  return e;
}

void train(const CharModel& model, SimpleTrainer& trainer, const Options& o) {
  RandomStream random({.seed = 1});
  for (int64_t update = 1; update <= o.updates; ++update) {
    const Excerpts e = draw(model, o.text, random);
    const double nats = trainer.step(0.01, [&](Tape& tape) {
      CarriedState zero(1, kBatch, model.lstm.hidden(), DType::float32);
      return nll(model(tape, e.ids, zero), e.targets, 1.0 / (kSteps * kBatch));
    });
    if (update % 50 == 0 || update == 1)
      std::printf("update %4lld  perplexity %.2f a character\n", static_cast<long long>(update),
                  std::exp(nats));
  }
}

// Continues the prompt by `count` characters, each drawn from the distribution given those before.
std::string generate(const CharModel& model, SimpleTrainer& trainer, const std::string& prompt,
                     int64_t count) {
  CarriedState state(1, 1, model.lstm.hidden(), DType::float32);
  RandomStream random({.seed = 2});
  std::string text = prompt;
  for (size_t i = 0; text.size() < prompt.size() + static_cast<size_t>(count); ++i) {
    const Tensor id = Tensor::from<int32_t>({model.id(text[i])}, {1, 1});
    const std::vector<double> log_probs =
        trainer.evaluate([&](Tape& tape) { return model(tape, id, state); }).to_vector();
    if (i + 1 < text.size()) continue;  // within the prompt
    double left = random.uniform();
    size_t next = 0;
    while (next + 1 < log_probs.size() && (left -= std::exp(log_probs[next])) > 0) ++next;
    text += model.alphabet[next];
  }
  return text;
}

int main(int argc, char** argv) try {
  const Options o = read_options(argc, argv);
  CharModel model(letters_of(o.text));
  SimpleTrainer trainer(model.parameters, {.clip = 1});
  std::printf("%zu characters of text, %lld different, %lld parameters\n", o.text.size(),
              static_cast<long long>(model.size()),
              static_cast<long long>(model.parameters.count()));
  train(model, trainer, o);
  if (o.generate > 0)
    std::printf("%s\n", generate(model, trainer, o.text.substr(0, 4), o.generate).c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "char_lm: %s\n", error.what());
  return 1;
}
