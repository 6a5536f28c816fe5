// A convolutional classifier of drawn digits: batch norm, pooling, one cycle of the learning rate,
// weight decay for the kernels only.
//
//   digits [UPDATES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "drawn_digits.h"
#include "nn/nine.h"

using namespace nine;

struct Classifier {
  ParameterSet parameters;
  Conv2d first{parameters, "first", 1, 16, 3, {.padding = 1}};
  BatchNorm first_norm{parameters, "first_norm", 16};
  Conv2d second{parameters, "second", 16, 32, 3, {.padding = 1}};
  BatchNorm second_norm{parameters, "second_norm", 32};
  Linear output{parameters, "output", 32 * 4 * 4, 10};

  // Maps images (n, 1, 16, 16) to the logits of the digits, (n, 10).
  Var operator()(const Var& images) const {
    Var h = max_pool(relu(first_norm(first(images))));
    h = max_pool(relu(second_norm(second(h))));
    return output(reshape(h, {h.shape()[0], 32 * 4 * 4}));
  }
};

struct Data {
  Tensor images, labels;
  Data(int n, unsigned seed) {
    const DrawnDigits digits = draw_digits(n, seed);
    images = Tensor::from<float>(digits.pixels, {n, 1, kDigitSize, kDigitSize});
    labels = Tensor::from<int32_t>(digits.labels, {n});
  }
};

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 150);
  const Data train(2000, 1), test(500, 2);
  Classifier model;
  SimpleTrainer trainer(
      model.parameters,
      {.optimizer = {.kind = OptimizerKind::adamw,
                     .weight_decay = 0.01,
                     .groups = {{.patterns = {"*.bias", "*_norm.*"}, .weight_decay = 0.0}}}});
  const OneCycle rate{.lr = 0.01, .updates = updates};
  Batches batches(2000, {.batch = 64});
  for (int update = 1; update <= updates; ++update) {
    const std::vector<int32_t> ids = batches.next();
    const Tensor images = take_rows(train.images, ids), labels = take_rows(train.labels, ids);
    const double loss = trainer.step(rate.rate(update), [&](Tape& tape) {
      return cross_entropy(model(tape.constant(images)), labels);
    });
    if (update % 50 == 0) std::printf("update %4d  loss %.3f\n", update, loss);
  }
  const std::vector<double> logits =
      trainer.evaluate([&](Tape& tape) { return model(tape.constant(test.images)); }).to_vector();
  int right = 0;
  for (int i = 0; i < 500; ++i) {
    const auto begin = logits.begin() + 10 * i;
    right += std::max_element(begin, begin + 10) - begin == test.labels.data<int32_t>()[i];
  }
  std::printf("%.1f%% of 500 other digits are right\n", right / 5.0);
  return updates < 150 || right > 475 ? 0 : 1;
}
