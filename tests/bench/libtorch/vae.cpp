// examples/vae.cpp in PyTorch's C++ API.
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "examples/drawn_digits.h"

constexpr int64_t kPixels = kDigitSize * kDigitSize, kHidden = 256, kCode = 8, kBatch = 128;

struct AutoencoderImpl : torch::nn::Module {
  torch::nn::Linear encoder{kPixels, kHidden}, mean{kHidden, kCode}, log_variance{kHidden, kCode},
      decoder{kCode, kHidden}, output{kHidden, kPixels};

  AutoencoderImpl() {
    register_module("encoder", encoder);
    register_module("mean", mean);
    register_module("log_variance", log_variance);
    register_module("decoder", decoder);
    register_module("output", output);
  }
  torch::Tensor decode(const torch::Tensor& code) { return output(torch::relu(decoder(code))); }
  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& noise) {
    const auto h = torch::relu(encoder(images));
    const auto m = mean(h), v = log_variance(h);
    const auto code = m + torch::exp(0.5 * v) * noise;
    const auto pixels =
        torch::binary_cross_entropy_with_logits(decode(code), images, {}, {}, at::Reduction::Sum) /
        kBatch;
    return pixels + 0.5 / kBatch * (m.square() + v.exp() - v - 1).sum();
  }
};
TORCH_MODULE(Autoencoder);

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 400);
  torch::manual_seed(1);
  DrawnDigits digits = draw_digits(2000, 1);
  const auto images = torch::from_blob(digits.pixels.data(), {2000, kPixels});
  Autoencoder model;
  torch::optim::Adam optimizer(model->parameters());
  for (auto& group : optimizer.param_groups()) group.options().set_lr(0.002);
  // PyTorch's C++ API has no moving average of weights.
  std::vector<torch::Tensor> average;
  for (const auto& p : model->parameters()) average.push_back(p.detach().clone());
  double first = 0, last = 0;
  torch::Tensor order;
  for (int update = 1, at = 0; update <= updates; ++update, at += kBatch) {
    if (update == 1 || at + kBatch > 2000) order = torch::randperm(2000), at = 0;
    optimizer.zero_grad();
    const auto loss = model->loss(images.index_select(0, order.slice(0, at, at + kBatch)),
                                  torch::randn({kBatch, kCode}));
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    const double decay = std::min(0.99, (1.0 + update) / (10.0 + update));
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < average.size(); ++i) average[i].lerp_(model->parameters()[i], 1 - decay);
    if (update == 1) first = last;
    if (update == 1 || update % 100 == 0)
      std::printf("update %4d  %.1f nats an image\n", update, last);
  }
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < average.size(); ++i) model->parameters()[i].copy_(average[i]);
  const auto drawn = torch::sigmoid(model->decode(torch::randn({3, kCode}))).contiguous();
  const float* pixel = drawn.data_ptr<float>();
  for (int y = 0; y < kDigitSize; ++y) {
    for (int image = 0; image < 3; ++image)
      for (int x = 0; x < kDigitSize; ++x)
        std::putchar(
            " .:*#"[static_cast<int>(4.99f * pixel[(image * kDigitSize + y) * kDigitSize + x])]);
    std::putchar('\n');
  }
  return updates < 400 || last < 0.5 * first ? 0 : 1;
}
