// Low-rank updates of matrices (LoRA): gradients, state and what is trained.
#include <doctest/doctest.h>

#include <cmath>

#include "core/arena.h"
#include "core/ops.h"
#include "nn/training/low_rank.h"
#include "nn/training/optimizer.h"
#include "tests/support/support.h"

namespace nine::tests::test_low_rank {
namespace {

struct Model {
  ParameterSet set{{.dtype = DType::float64, .seed = 5}};
  Parameter &first = set.add("layer.first.weight", {5, 4}, Init::normal(1)),
            &second = set.add("layer.second.weight", {3, 5}, Init::normal(1)),
            &other = set.add("other.weight", {6, 7}, Init::normal(1)),
            &bias = set.add("layer.bias", {5}, Init::normal(1));

  // The loss sum of sin((i + 1) w_i) of all elements; sets its gradient.
  double loss() const {
    double sum = 0;
    for (const Parameter* p : {&first, &second, &other, &bias}) {
      const double* const w = p->value().data<double>();
      double* const g = p->grad().data<double>();
      for (int64_t i = 0; i < p->value().elements(); ++i) {
        const double factor = 0.1 * static_cast<double>(i + 1);
        sum += std::sin(factor * w[i]);
        g[i] = p->frozen ? 0 : factor * std::cos(factor * w[i]);
      }
    }
    return sum;
  }
};

const LowRankConfig kConfig{.rank = 2, .alpha = 3, .matrices = {"layer.*"}, .seed = 7};

}  // namespace

TEST_CASE("low-rank updates: the gradients of A and B are those of finite differences") {
  Model model;
  LowRankUpdates updates(model.set, kConfig);
  CHECK(updates.factors().count() == 2 * (5 + 4 + 3 + 5));
  // B is 0 at first: another start, so that A has a gradient too.
  for (const Parameter& p : updates.factors().all())
    for (int64_t i = 0; i < p.value().elements(); ++i)
      p.value().data<double>()[i] += 0.1 * std::cos(static_cast<double>(3 * i + 1));
  updates.apply();
  model.loss();
  updates.set_gradients();
  constexpr double kStep = 1e-5;
  for (const Parameter& p : updates.factors().all()) {
    const std::vector<double> gradient = p.grad().to_vector();
    for (size_t i = 0; i < gradient.size(); ++i) {
      double& x = p.value().data<double>()[i];
      const double was = x;
      const auto at = [&](double value) {
        x = value;
        updates.apply();
        return model.loss();
      };
      const double above = at(was + kStep), below = at(was - kStep);
      x = was;
      CHECK(gradient[i] == doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-6));
    }
  }
}

TEST_CASE("low-rank updates: only their factors are trained, with a state of their size") {
  Model model;
  const std::vector<double> other = model.other.value().to_vector(),
                            bias = model.bias.value().to_vector(),
                            first = model.first.value().to_vector();
  const auto optimizer = make_optimizer(model.set, {.low_rank = kConfig});
  const Tensor norm({}, DType::float64);
  std::vector<double> losses;
  for (int i = 0; i < 20; ++i) {
    losses.push_back(model.loss());
    ops::fill(norm, 1e9);  // clipping is by the norm of the factors' gradient, not by this number
    optimizer->step(0.05, norm, 100);
  }
  CHECK(losses.back() < losses.front() - 1);
  CHECK(model.other.value().to_vector() == other);
  CHECK(model.bias.value().to_vector() == bias);
  CHECK(model.first.value().to_vector() != first);
  // W - W0 = 3 / 2 B A.
  std::map<std::string, View> state;
  int64_t numbers = 0;
  for (const NamedView& part : optimizer->named()) {
    state[part.name] = part.view;
    numbers += part.view.elements();
  }
  const View a = state.at("lora.value.layer.first.weight.lora_a"),
             b = state.at("lora.value.layer.first.weight.lora_b");
  for (int64_t r = 0; r < 5; ++r)
    for (int64_t c = 0; c < 4; ++c) {
      double sum = first[static_cast<size_t>(4 * r + c)];
      for (int64_t k = 0; k < 2; ++k)
        sum += 1.5 * b.as<double>()[2 * r + k] * a.as<double>()[4 * k + c];
      CHECK(model.first.value().data<double>()[4 * r + c] == doctest::Approx(sum).epsilon(1e-12));
    }
  CHECK(state.contains("adam.m.layer.second.weight.lora_b"));
  CHECK(!state.contains("adam.m.other.weight"));
  // Three numbers (value and two moments) for each of the factors, and the original matrices.
  CHECK(numbers == 3 * 34 + 20 + 15);

  // Other bits nowhere after a restart from what a checkpoint holds.
  Model again;
  const auto resumed = make_optimizer(again.set, {.low_rank = kConfig});
  Safetensors file;
  for (const NamedView& part : optimizer->named()) {
    Tensor copy(part.view.shape, part.view.dtype);
    ops::copy(part.view, copy);
    file.tensors[part.name] = copy;
    CHECK(resumed->owns(part.name));
  }
  ops::copy(model.set.values(), again.set.values());
  resumed->load(file, 20, 0);
  for (const auto& [set, one] : {std::pair(&model, optimizer.get()), {&again, resumed.get()}}) {
    set->loss();
    one->step(0.05, norm, 0);
  }
  CHECK(again.set.values().to_vector() == model.set.values().to_vector());
}

TEST_CASE("low-rank updates: with asgd an evaluation sees the average of the factors") {
  for (const int64_t from : {0, 2}) {
    Model model;
    const auto optimizer = make_optimizer(
        model.set, {.kind = OptimizerKind::asgd, .average_from = from, .low_rank = kConfig});
    const Tensor norm({}, DType::float64);
    for (int i = 0; i < 5; ++i) {
      model.loss();
      optimizer->step(0.01, norm, 0);
    }
    const std::vector<double> latest = model.first.value().to_vector();
    optimizer->swap_average();
    CHECK(model.first.value().to_vector() != latest);
    optimizer->swap_average();
    CHECK(model.first.value().to_vector() == latest);
  }
}

TEST_CASE("low-rank updates: what does not fit is refused") {
  Model model;
  const auto error = [&](LowRankConfig config) {
    return error_of([&] { make_optimizer(model.set, {.low_rank = std::move(config)}); });
  };
  CHECK(has(error({.rank = 5, .alpha = 1, .matrices = {"layer.first*"}}),
            "the rank 5 of low-rank updates is above the smaller side of layer.first.weight"));
  CHECK(has(error({.rank = -1, .alpha = 1, .matrices = {"layer.first*"}}),
            "the rank of low-rank updates is -1"));
  CHECK(has(error({.rank = 2, .alpha = 1, .matrices = {"layer.bias"}}),
            "there is no matrix called 'layer.bias' for a low-rank update; there are layer.first"));
  CHECK(has(error_of([&] { make_optimizer(model.set, {.lazy = true, .low_rank = kConfig}); }),
            "choose one of them"));
  CHECK(low_rank_size(model.set, kConfig).numbers == 34);
}

}  // namespace nine::tests::test_low_rank
