// What a training loop of one's own needs: groups of parameters, a mean of the weights, batches,
// rates, gradcheck of a model, moving a model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ops.h"
#include "core/safetensors.h"
#include "data/batches.h"
#include "nn/batch_norm.h"
#include "nn/gradcheck_model.h"
#include "nn/linear.h"
#include "nn/training/schedule.h"
#include "nn/training/simple_trainer.h"
#include "nn/training/weight_average.h"
#include "tests/support/compare.h"

namespace nine::tests::test_training_tools {

namespace {

using Doubles = std::vector<double>;

Tensor wave(const Shape& shape, double k) {
  Doubles values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(std::sin(k * static_cast<double>(i + 1)));
  return Tensor::from<double>(values, shape);
}

// Two parameters of different groups; the loss is the sum of a^2 and of b^3.
struct Two {
  ParameterSet parameters{{.dtype = DType::float64}};
  Parameter &a = parameters.add("a", {3}, Init::zeros()),
            &b = parameters.add("b", {2}, Init::zeros());

  Two() {
    ops::copy(wave({3}, 0.5), a.value());
    ops::copy(wave({2}, 0.6), b.value());
  }
  Var loss(Tape& tape) {
    const Var x = tape.parameter(b);
    return sum(square(tape.parameter(a))) + sum(square(x) * x);
  }
  void train(const OptimizerConfig& config, double lr, int updates = 3) {
    SimpleTrainer trainer(parameters, {.optimizer = config});
    for (int i = 0; i < updates; ++i) trainer.step(lr, [&](Tape& tape) { return loss(tape); });
  }
};

}  // namespace

TEST_CASE("groups of parameters: AdamW as PyTorch's param_groups") {
  Two two;
  two.train({.kind = OptimizerKind::adamw,
             .weight_decay = 0.3,
             .groups = {{.patterns = {"a"}, .lr_factor = 0.2, .weight_decay = 0.0}}},
            0.1);
  CHECK(relative_error(two.a.value().to_vector(),
                       Doubles{0.419525269747, 0.781522714019, 0.937537763803}) < 1e-10);
  CHECK(relative_error(two.b.value().to_vector(), Doubles{0.237982345125, 0.566366794124}) < 1e-10);
}

TEST_CASE("groups of parameters: a group alone is a model alone, for every optimiser") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                                   OptimizerKind::asgd, OptimizerKind::lion, OptimizerKind::muon}) {
    CAPTURE(to_text(kind));
    const OptimizerConfig plain{.kind = kind, .momentum = 0.9, .weight_decay = 0.3};
    OptimizerConfig grouped = plain, other = plain;
    grouped.groups = {{.patterns = {"b"}, .lr_factor = 0.5, .weight_decay = 0.1}};
    other.weight_decay = 0.1;
    Two all, first, second;
    all.train(grouped, 0.1);
    first.train(plain, 0.1);
    second.train(other, 0.05);
    CHECK(relative_error(all.a.value().to_vector(), first.a.value().to_vector()) < 1e-12);
    CHECK(relative_error(all.b.value().to_vector(), second.b.value().to_vector()) < 1e-12);
    CHECK(all.b.value().to_vector() != first.b.value().to_vector());
  }
  Two two;
  CHECK_THROWS_AS(make_optimizer(two.parameters, {.groups = {{.patterns = {"c*"}}}}), UsageError);
  CHECK_THROWS(make_optimizer(two.parameters, {.lazy = true, .groups = {{.patterns = {"a"}}}}));
}

TEST_CASE("WeightAverage: the recursion, swap, save and load") {
  Two two;
  WeightAverage average(two.parameters, 0.5);
  Doubles expected = two.a.value().to_vector();
  SimpleTrainer trainer(two.parameters);
  for (int t = 1; t <= 12; ++t) {
    trainer.step(0.1, [&](Tape& tape) { return two.loss(tape); });
    average.update();
    const double d = std::min(0.5, (1.0 + t) / (10.0 + t));
    const Doubles now = two.a.value().to_vector();
    for (size_t i = 0; i < now.size(); ++i) expected[i] = d * expected[i] + (1 - d) * now[i];
  }
  const Doubles last = two.a.value().to_vector();
  average.swap();
  CHECK(relative_error(two.a.value().to_vector(), expected) < 1e-12);
  CHECK_THROWS(average.update());
  average.swap();
  CHECK(two.a.value().to_vector() == last);

  Two again;
  WeightAverage loaded(again.parameters, 0.5);
  Safetensors file;
  for (const NamedView& v : average.named()) {
    Tensor t(v.view.shape, v.view.dtype);
    ops::copy(v.view, t);
    file.tensors.emplace(v.name, t);
  }
  loaded.load(file, average.updates());
  loaded.swap();
  CHECK(relative_error(again.a.value().to_vector(), expected) < 1e-12);
  CHECK(loaded.updates() == 12);
  CHECK_THROWS(WeightAverage(two.parameters, 1));
}

TEST_CASE("Batches: each example once an epoch, in orders that the seed decides, and resumes") {
  Batches batches(10, {.batch = 4, .seed = 3}), same(10, {.batch = 4, .seed = 3}),
      other(10, {.batch = 4, .seed = 4});
  CHECK(batches.per_epoch() == 3);
  CHECK(batches.epoch() == 0);
  std::vector<std::vector<int32_t>> orders, others;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    std::vector<int32_t> order, order_of_other;
    for (const size_t size : {4u, 4u, 2u}) {
      const std::vector<int32_t> ids = batches.next(), again = same.next(), rest = other.next();
      CHECK(ids.size() == size);
      CHECK(ids == again);
      CHECK(batches.epoch() == epoch);
      CHECK(batches.ends_epoch() == (size == 2));
      order.insert(order.end(), ids.begin(), ids.end());
      order_of_other.insert(order_of_other.end(), rest.begin(), rest.end());
    }
    CHECK(std::set<int32_t>(order.begin(), order.end()).size() == 10);
    orders.push_back(order);
    others.push_back(order_of_other);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  CHECK(orders[0] != others[0]);

  // From each state the same batches follow.
  Batches whole(10, {.batch = 3, .seed = 5, .drop_last = true});
  for (int i = 0; i < 8; ++i) {
    Batches resumed(10, {.batch = 3, .seed = 5, .drop_last = true});
    resumed.restore(whole.state());
    Batches ahead = whole;
    for (int k = 0; k < 5; ++k) {
      const std::vector<int32_t> ids = ahead.next();
      CHECK(ids == resumed.next());
      CHECK(ids.size() == 3);
    }
    whole.next();
  }
  Batches in_order(5, {.batch = 2, .shuffle = false});
  CHECK(in_order.next() == std::vector<int32_t>{0, 1});
  CHECK(in_order.next() == std::vector<int32_t>{2, 3});
  CHECK(in_order.next() == std::vector<int32_t>{4});
  CHECK(in_order.next() == std::vector<int32_t>{0, 1});
  CHECK_THROWS(Batches(0));
  CHECK_THROWS(Batches(3, {.batch = 0}));
  CHECK_THROWS(Batches(3, {.batch = 4, .drop_last = true}));
  CHECK_THROWS(in_order.restore({.epoch = 1, .batches = 4}));
}

TEST_CASE("take_rows copies examples of any type and rank") {
  const Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 2, 2}),
               labels = Tensor::from<int32_t>({7, 8, 9}, {3});
  const std::vector<int32_t> ids{2, 0, 2};
  const Tensor y = take_rows(x, ids);
  CHECK(y.shape() == Shape{3, 2, 2});
  CHECK(y.to_vector() == Doubles{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(take_rows(labels, ids).to_vector() == Doubles{9, 7, 9});
  CHECK(take_rows(x, {}).shape() == Shape{0, 2, 2});
  CHECK_THROWS(take_rows(x, std::vector<int32_t>{3}));
  CHECK_THROWS(take_rows(x, std::vector<int32_t>{-1}));
  CHECK_THROWS(take_rows(Tensor::from<float>({1}, {}), ids));
}

TEST_CASE("OneCycle and StepDecay have PyTorch's rates") {
  const OneCycle cycle{
      .lr = 0.8, .updates = 10, .rise = 0.3, .start_divisor = 25, .end_divisor = 100};
  const Doubles expected{0.032,
                         0.416,
                         0.8,
                         0.7604033921421033,
                         0.6494561623751961,
                         0.48913277023309276,
                         0.31118722976690727,
                         0.15086383762480401,
                         0.039916607857896774,
                         0.00032};
  for (int t = 1; t <= 10; ++t)
    CHECK(cycle.rate(t) == doctest::Approx(expected[static_cast<size_t>(t - 1)]).epsilon(1e-12));
  CHECK(cycle.rate(99) == doctest::Approx(0.00032));
  CHECK_THROWS(OneCycle{.updates = 2}.rate(1));
  const StepDecay decay{.lr = 1, .every = 3, .factor = 0.5};
  for (int t = 1; t <= 9; ++t) CHECK(decay.rate(t) == std::pow(0.5, (t - 1) / 3));
  CHECK_THROWS(StepDecay{.every = 0}.rate(1));
}

TEST_CASE("gradcheck of a model finds a wrong gradient and names its parameter") {
  ParameterSet parameters({.dtype = DType::float64});
  const Linear hidden(parameters, "hidden", 3, 4), output(parameters, "output", 4, 2);
  const auto value = [&](Tape& tape) {
    return output(tanh(hidden(tape.constant(wave({5, 3}, 1)))));
  };
  const Doubles before = parameters.values().to_vector();
  GradcheckReport report = gradcheck(parameters, value);
  CHECK(report.worst < 1e-8);
  CHECK(report.checked == parameters.count());
  CHECK(parameters.values().to_vector() == before);
  // A function whose gradient to hidden.bias is missing.
  report = gradcheck(parameters, [&](Tape& tape) {
    return value(tape) + sum(tape.constant(hidden.bias()->value()));
  });
  CHECK(report.worst > 0.1);
  CHECK(report.where.starts_with("hidden.bias of shape (4)"));
  ParameterSet single;
  const Linear other(single, "other", 1, 1);
  CHECK_THROWS(gradcheck(single, [&](Tape& tape) {
    return other(tape.constant(wave({1, 1}, 1)));
  }));
}

TEST_CASE("ParameterSet::to: the same device, and buffers that a layer keeps") {
  ParameterSet parameters;
  const Linear linear(parameters, "linear", 2, 2);
  BatchNorm norm(parameters, "norm", 2);
  parameters.to(kCpu);
  CHECK(parameters.buffer("norm.running_var").to_vector() == Doubles{1, 1});
  CHECK_THROWS(parameters.buffer("norm.running_varr"));
  const Tensor kept = parameters.add_buffer("kept", {1});
  try {
    parameters.to({DeviceKind::cuda, 0});
    FAIL("a buffer that a layer keeps was moved");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("'kept'") != std::string::npos);
  }
}

}  // namespace nine::tests::test_training_tools
