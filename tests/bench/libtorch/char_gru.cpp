// examples/char_gru.cpp in PyTorch's C++ API.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

constexpr int64_t kSteps = 32, kBatch = 16, kHidden = 128;
const std::string kText =
    "the quick brown fox jumps over the lazy dog. the lazy dog sleeps. "
    "the quick brown fox runs over the hill. the dog wakes and runs over the hill. "
    "the fox sleeps under the hill. the quick dog jumps over the lazy fox. ";
const std::string kLetters = " .abcdefghijklmnopqrstuvwxyz";

struct ModelImpl : torch::nn::Module {
  torch::nn::Embedding letters{static_cast<int64_t>(kLetters.size()), 32};
  torch::nn::GRU gru{32, kHidden};
  torch::nn::Linear output{kHidden, static_cast<int64_t>(kLetters.size())};

  ModelImpl() {
    register_module("letters", letters);
    register_module("gru", gru);
    register_module("output", output);
  }
  // Maps ids (steps, batch) to logits; `state` goes from step to step.
  torch::Tensor forward(const torch::Tensor& ids, torch::Tensor& state) {
    const auto [y, last] = gru(letters(ids), state);
    state = last;
    return output(y).flatten(0, 1);
  }
};
TORCH_MODULE(Model);

int64_t id(char c) { return static_cast<int64_t>(kLetters.find(c)); }

// Continues the text by `count` letters: each time the likeliest one.
std::string generate(Model& model, std::string text, int count) {
  torch::NoGradGuard no_grad;
  auto state = torch::zeros({1, 1, kHidden});
  for (size_t i = 0; count > 0; ++i) {
    const auto logits = model(torch::full({1, 1}, id(text[i]), torch::kInt64), state);
    if (i + 1 < text.size()) continue;  // within the prompt
    text += kLetters[static_cast<size_t>(logits.argmax().item<int64_t>())];
    --count;
  }
  return text;
}

int main(int argc, char** argv) {
  const int updates = std::max(10, argc > 1 ? std::atoi(argv[1]) : 150);
  torch::manual_seed(1);
  Model model;
  torch::optim::Adam optimizer(model->parameters());
  for (auto& group : optimizer.param_groups()) group.options().set_lr(0.01);
  double nats = 0;
  for (int update = 1; update <= updates; ++update) {
    // Excerpts from random places; a target is the letter that follows.
    auto ids = torch::empty({kSteps, kBatch}, torch::kInt64), targets = torch::empty_like(ids);
    auto to = ids.accessor<int64_t, 2>(), next = targets.accessor<int64_t, 2>();
    for (int64_t b = 0; b < kBatch; ++b) {
      const auto start = static_cast<size_t>(
          torch::randint(static_cast<int64_t>(kText.size()) - kSteps, {1}).item<int64_t>());
      for (int64_t t = 0; t < kSteps; ++t) {
        to[t][b] = id(kText[start + static_cast<size_t>(t)]);
        next[t][b] = id(kText[start + static_cast<size_t>(t) + 1]);
      }
    }
    optimizer.zero_grad();
    auto state = torch::zeros({1, kBatch, kHidden});
    const auto loss = torch::nn::functional::cross_entropy(model(ids, state), targets.flatten());
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1);
    optimizer.step();
    nats = loss.item<double>();
    if (update % 50 == 0)
      std::printf("update %4d  perplexity %.2f a letter\n", update, std::exp(nats));
  }
  std::printf("%s\n", generate(model, "the quick", 60).c_str());
  return updates < 150 || nats < 0.3 ? 0 : 1;
}
