// Training a small language model on the CPU and on a GPU from the same weights, and what two runs
// on the GPU have in common.
#include <doctest/doctest.h>

#include <cmath>

#include "autograd/functions.h"
#include "cuda/cuda.h"
#include "nn/linear.h"
#include "nn/models/language_config.h"
#include "nn/training/checkpoint.h"
#include "nn/training/language_model_task.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/optimizer.h"
#include "nn/training/simple_trainer.h"
#include "nn/training/train_step.h"
#include "tests/cuda/small_training.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

TEST_CASE("cuda: training on the GPU follows the CPU") {
  for (const char* head : {"lin", "mix:2*lin,rbf"}) {
    CAPTURE(head);
    const Trained cpu = train_on(kCpu, head, DType::float64, 12),
                  gpu = train_on(kGpu, head, DType::float64, 12);
    CHECK(relative_error(gpu.losses, cpu.losses) < 1e-9);
    CHECK(relative_error(gpu.weights, cpu.weights) < 1e-7);
    CHECK(std::abs(gpu.nll - cpu.nll) < 1e-8);
    CHECK(cpu.losses.back() < cpu.losses.front());
  }
}

TEST_CASE("cuda: a Transformer language model trained on the GPU follows the CPU") {
  TransformerStyle llama = TransformerStyle::llama(), post = TransformerStyle::llama();
  llama.kv_heads = 1;
  llama.qk_norm = true;
  post.norm = NormOrder::post;
  post.activation = Activation::geglu;
  const OptimizerConfig adam, lion{.kind = OptimizerKind::lion, .weight_decay = 0.1},
      muon{.kind = OptimizerKind::muon, .momentum = 0.95, .weight_decay = 0.1};
  struct Case {
    TransformerStyle style;
    OptimizerConfig optimizer;
    bool recompute = false;
  };
  for (const Case& c :
       {Case{TransformerStyle::gpt2(), adam, false}, Case{llama, adam, false},
        Case{post, adam, true}, Case{llama, lion, true}, Case{llama, muon, false}}) {
    CAPTURE(to_text(c.optimizer.kind));
    CAPTURE(to_text(c.style.activation));
    const TrainingSettings settings{.arch = LanguageArch::transformer,
                                    .style = c.style,
                                    .recompute = c.recompute,
                                    .optimizer = c.optimizer};
    const Trained cpu = train_on(kCpu, "lin", DType::float64, 12, settings),
                  gpu = train_on(kGpu, "lin", DType::float64, 12, settings);
    CHECK(relative_error(gpu.losses, cpu.losses) < 1e-9);
    CHECK(relative_error(gpu.weights, cpu.weights) < 1e-7);
    CHECK(std::abs(gpu.nll - cpu.nll) < 1e-8);
    CHECK(cpu.losses.back() < cpu.losses.front());
  }
}

TEST_CASE("cuda: SimpleTrainer trains where its parameters are") {
  const auto losses = [](Device device) {
    ParameterSet parameters({.dtype = DType::float64, .device = device});
    Linear line(parameters, "line", 1, 1);
    SimpleTrainer trainer(parameters, {.clip = 1});
    const Tensor x = to_device(Tensor::from<double>({-1, 0, 1, 2}, {4, 1}), device),
                 wanted = to_device(Tensor::from<double>({-1, 1, 3, 5}, {4, 1}), device);
    const auto loss = [&](Tape& tape) {
      return sum(square(sub(line(tape.constant(x)), tape.constant(wanted))));
    };
    std::vector<double> all;
    for (int i = 0; i < 20; ++i) all.push_back(trainer.step(0.05, loss));
    all.push_back(trainer.evaluate(loss).item());
    return all;
  };
  const std::vector<double> cpu = losses(kCpu);
  CHECK(relative_error(losses(kGpu), cpu) < 1e-12);
  CHECK(cpu.back() < cpu.front() / 2);
}

TEST_CASE("cuda: two runs on the GPU have the same bits") {
  const Trained one = train_on(kGpu, "ssg", DType::float32, 6),
                two = train_on(kGpu, "ssg", DType::float32, 6);
  CHECK(one.losses == two.losses);
  CHECK(one.weights == two.weights);
  CHECK(one.nll == two.nll);
}

TEST_CASE("cuda: sums of a mixture's weights are formed on the GPU") {
  constexpr int64_t kSize = 3;
  const auto weights = [&](DType dtype, Device device, Device sums) {
    MixtureWeightStats stats(kSize, sums);
    for (const int64_t rows : {50, 80, 20}) {
      Ints targets = random_indices({{{rows}, -1, 4}}, 8)[0];
      targets[0] = -1;
      const Tensor logs =
          tensor_of(random_values({{{rows, kSize}, -5, 0}}, 9)[0], {rows, kSize}, dtype);
      stats.add(to_device(logs, device), tensor_of(targets, {rows}));
      stats.add(to_device(logs, device), tensor_of(targets, {rows}), 1, 3);
    }
    REQUIRE(stats);
    return stats.sums().to_vector();
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::vector<double> cpu = weights(dtype, kCpu, kCpu);
    CHECK(weights(dtype, kGpu, kCpu) == cpu);  // the rows are copied
    const std::vector<double> gpu = weights(dtype, kGpu, kGpu);
    CHECK(gpu[0] == cpu[0]);
    CHECK(relative_error(gpu, cpu) < (dtype == DType::float32 ? 1e-7 : 1e-13));
  }
  MixtureWeightStats stats(kSize, kGpu);
  CHECK(!stats);
  stats.add(to_device(tensor_of(std::vector<double>(kSize), {1, kSize}, DType::float64), kGpu),
            Tensor::from<int32_t>({1}, {1}));
  CHECK(stats.mean() == std::vector<double>(kSize, 1.0));
  CHECK(stats.variance() == std::vector<double>(kSize, 0.0));
  stats.clear();
  CHECK(!stats);
}

TEST_CASE("cuda: weights move between devices") {
  const TemporaryDirectory dir;
  const std::string file = dir / "weights";
  const Trained gpu = train_on(kGpu, "lin", DType::float64, 3, {.save = file});
  const Trained cpu =
      train_on(kCpu, "lin", DType::float64, 0, {.load = file, .save = dir / "again"});
  CHECK(cpu.weights == gpu.weights);
  CHECK(std::abs(cpu.nll - gpu.nll) < 1e-10);
  CHECK(train_on(kGpu, "lin", DType::float64, 0, {.load = dir / "again"}).nll == gpu.nll);
}

TEST_CASE("cuda: training with graphs and without gives the same bits") {
  for (const bool sentences : {false, true}) {
    CAPTURE(sentences);
    const auto train = [&](bool graphs) {
      cuda::use_graphs(graphs);
      return train_on(kGpu, "lin", DType::float32, 12, {.sentences = sentences});
    };
    cuda::use_side_by_side(false);  // which needs no graph
    const Trained without = train(false), with = train(true);
    cuda::use_side_by_side(true);
    CHECK(with.losses == without.losses);
    CHECK(with.weights == without.weights);
    CHECK(with.nll == without.nll);
  }
}
