// A variational autoencoder of drawn digits (Kingma & Welling, 2014): learns to draw digits from
// eight random numbers, and shows three of them.
//
//   vae [UPDATES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "drawn_digits.h"
#include "nn/nine.h"

using namespace nine;

constexpr int64_t kPixels = kDigitSize * kDigitSize, kHidden = 256, kCode = 8, kBatch = 128;

struct Autoencoder {
  ParameterSet parameters;
  Linear encoder{parameters, "encoder", kPixels, kHidden};
  Linear mean{parameters, "mean", kHidden, kCode},
      log_variance{parameters, "log_variance", kHidden, kCode};
  Linear decoder{parameters, "decoder", kCode, kHidden},
      output{parameters, "output", kHidden, kPixels};

  Var decode(const Var& code) const { return output(decoder.relu(code)); }

  // The negative evidence lower bound of an image in nats; `noise` has a normal number for each
  // number of the codes.
  Var loss(const Var& images, const Var& noise) const {
    const Var h = encoder.relu(images), m = mean(h), v = log_variance(h);
    const Var code = m + exp(scale(v, 0.5)) * noise;
    const Var pixels = scale(sum(logistic_loss(decode(code), images)), 1.0 / kBatch);
    return pixels + normal_kl(m, v);
  }
};

Tensor normal_numbers(int64_t n, uint32_t step) {
  std::vector<float> numbers;
  const RandomKey key{.seed = 1, .step = step, .op = stream_id("codes")};
  for (int64_t i = 0; i < n * kCode; ++i)
    numbers.push_back(static_cast<float>(random_normal(key, static_cast<uint64_t>(i))));
  return Tensor::from<float>(numbers, {n, kCode});
}

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 400);
  const Tensor images = Tensor::from<float>(draw_digits(2000, 1).pixels, {2000, kPixels});
  Autoencoder model;
  SimpleTrainer trainer(model.parameters);
  WeightAverage average(model.parameters, 0.99);
  Batches batches(2000, {.batch = kBatch, .drop_last = true});
  double first = 0, last = 0;
  for (int update = 1; update <= updates; ++update) {
    const Tensor x = take_rows(images, batches.next());
    last = trainer.step(0.002, [&](Tape& tape) {
      return model.loss(tape.constant(x),
                        tape.constant(normal_numbers(kBatch, static_cast<uint32_t>(update))));
    });
    average.update();
    if (update == 1) first = last;
    if (update == 1 || update % 100 == 0)
      std::printf("update %4d  %.1f nats an image\n", update, last);
  }
  average.swap();
  const Tensor drawn = trainer.evaluate(
      [&](Tape& tape) { return sigmoid(model.decode(tape.constant(normal_numbers(3, 0)))); });
  for (int y = 0; y < kDigitSize; ++y) {
    for (int image = 0; image < 3; ++image)
      for (int x = 0; x < kDigitSize; ++x)
        std::putchar(" .:*#"[static_cast<int>(
            4.99f * drawn.data<float>()[(image * kDigitSize + y) * kDigitSize + x])]);
    std::putchar('\n');
  }
  return updates < 400 || last < 0.5 * first ? 0 : 1;
}
