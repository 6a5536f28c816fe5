// examples/digits.cpp in PyTorch's C++ API.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "examples/drawn_digits.h"

struct ClassifierImpl : torch::nn::Module {
  torch::nn::Conv2d first{torch::nn::Conv2dOptions(1, 16, 3).padding(1)};
  torch::nn::BatchNorm2d first_norm{16};
  torch::nn::Conv2d second{torch::nn::Conv2dOptions(16, 32, 3).padding(1)};
  torch::nn::BatchNorm2d second_norm{32};
  torch::nn::Linear output{32 * 4 * 4, 10};

  ClassifierImpl() {
    register_module("first", first);
    register_module("first_norm", first_norm);
    register_module("second", second);
    register_module("second_norm", second_norm);
    register_module("output", output);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    auto h = torch::max_pool2d(torch::relu(first_norm(first(images))), 2);
    h = torch::max_pool2d(torch::relu(second_norm(second(h))), 2);
    return output(h.flatten(1));
  }
};
TORCH_MODULE(Classifier);

struct Data {
  torch::Tensor images, labels;
  Data(int n, unsigned seed) {
    DrawnDigits digits = draw_digits(n, seed);
    images = torch::from_blob(digits.pixels.data(), {n, 1, kDigitSize, kDigitSize}).clone();
    labels = torch::from_blob(digits.labels.data(), {n}, torch::kInt32).to(torch::kInt64);
  }
};

// PyTorch's C++ API has no OneCycleLR.
double one_cycle(int update, int updates, double lr) {
  const double top = 0.3 * updates - 1, end = updates - 1, t = update - 1;
  const auto between = [](double a, double b, double part) {
    return b + (a - b) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
  return t <= top ? between(lr / 25, lr, t / top)
                  : between(lr, lr / 25 / 1e4, (t - top) / (end - top));
}

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 150);
  torch::manual_seed(1);
  const Data train(2000, 1), test(500, 2);
  Classifier model;
  std::vector<torch::Tensor> kernels, others;
  for (const auto& p : model->named_parameters()) {
    const bool other = p.key().ends_with(".bias") || p.key().find("_norm") != std::string::npos;
    (other ? others : kernels).push_back(p.value());
  }
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions(0.01).weight_decay(decay));
  };
  torch::optim::AdamW optimizer(std::vector<torch::optim::OptimizerParamGroup>{
      {kernels, options(0.01)}, {others, options(0)}});
  torch::Tensor order;
  for (int update = 1, at = 0; update <= updates; ++update, at += 64) {
    if (update == 1 || at >= 2000) order = torch::randperm(2000), at = 0;
    const auto ids = order.slice(0, at, std::min(2000, at + 64));
    const auto images = train.images.index_select(0, ids),
               labels = train.labels.index_select(0, ids);
    for (auto& group : optimizer.param_groups())
      group.options().set_lr(one_cycle(update, updates, 0.01));
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model(images), labels);
    loss.backward();
    optimizer.step();
    if (update % 50 == 0) std::printf("update %4d  loss %.3f\n", update, loss.item<double>());
  }
  model->eval();
  torch::NoGradGuard no_grad;
  const int right = (model(test.images).argmax(1) == test.labels).sum().item<int>();
  std::printf("%.1f%% of 500 other digits are right\n", right / 5.0);
  return updates < 150 || right > 475 ? 0 : 1;
}
