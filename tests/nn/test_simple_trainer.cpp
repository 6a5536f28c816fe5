// The parts of nn/ that other programs use: SimpleTrainer, Lstm from zeros, saving a set of
// parameters.
#include <doctest/doctest.h>

#include <cmath>

#include "nn/nine.h"
#include "tests/support/programs.h"

namespace nine::tests::test_simple_trainer {
namespace {

struct Line {  // y = w x + b
  ParameterSet parameters;
  Linear layer{parameters, "line", 1, 1};
  explicit Line(DType dtype) : parameters({.dtype = dtype}) {}
};

}  // namespace

TEST_CASE_TEMPLATE("simple trainer: finds a line", T, float, double) {
  Line line(dtype_of<T>);
  const Tensor x = Tensor::from<T>({-1, 0, 1, 2}, {4, 1}),
               wanted = Tensor::from<T>({-1, 1, 3, 5}, {4, 1});
  SimpleTrainer trainer(line.parameters);
  const auto loss = [&](Tape& tape) {
    return sum(square(sub(line.layer(tape.constant(x)), tape.constant(wanted))));
  };
  const double before = trainer.evaluate(loss).item();
  CHECK(trainer.step(0.05, loss) == before);  // the loss before the update
  for (int i = 0; i < 500; ++i) trainer.step(0.05, loss);
  CHECK(trainer.updates() == 501);
  CHECK(trainer.evaluate(loss).item() < 1e-6);
  CHECK(std::abs(line.parameters.at("line.weight").value().to_vector()[0] - 2) < 1e-3);
}

TEST_CASE("simple trainer: an error changes nothing and the next step goes on") {
  Line line(DType::float64);
  SimpleTrainer trainer(line.parameters);
  const std::vector<double> before = line.parameters.values().to_vector();
  const Tensor x = Tensor::from<double>({1, 2}, {2, 1});
  CHECK_THROWS_WITH_AS(trainer.step(0.1, [&](Tape& tape) { return line.layer(tape.constant(x)); }),
                       "[SimpleTrainer] a loss must be one number, got shape (2, 1); call sum()",
                       Error);
  CHECK_THROWS_AS(trainer.step(0.1,
                               [&](Tape& tape) {
                                 return log(sum(scale(square(line.layer(tape.constant(x))), -1)));
                               }),
                  Error);
  CHECK(line.parameters.values().to_vector() == before);
  CHECK(trainer.updates() == 0);
  CHECK(std::isfinite(
      trainer.step(0.1, [&](Tape& tape) { return sum(square(line.layer(tape.constant(x)))); })));
  CHECK(trainer.updates() == 1);
  CHECK(line.parameters.values().to_vector() != before);
}

TEST_CASE("simple trainer: a loss of one element may have any shape") {
  const Tensor x = Tensor::from<double>({1, 2}, {2, 1});
  const auto after_a_step = [&](const auto& shaped) {
    Line line(DType::float64);
    SimpleTrainer trainer(line.parameters);
    trainer.step(0.1, [&](Tape& tape) { return shaped(square(line.layer(tape.constant(x)))); });
    return line.parameters.values().to_vector();
  };
  const std::vector<double> expected = after_a_step([](const Var& y) { return sum(y); });
  for (const Shape& shape : {Shape{1}, Shape{1, 1}, Shape{1, 1, 1, 1}})
    CHECK(after_a_step([&](const Var& y) { return reshape(sum(y), shape); }) == expected);
}

TEST_CASE("lstm: from zeros is from a state of zeros") {
  ParameterSet set({.dtype = DType::float64});
  const Lstm lstm(set, "lstm", 3, 5, 2);
  const Tensor x = Tensor::from<double>({1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}, {2, 2, 3});
  Arena arena("test");
  Tape tape(arena);
  std::vector<LstmState> state;
  const CarriedState zeros(2, 2, 5, DType::float64, kCpu);
  zeros.on(tape, state);
  CHECK(lstm(tape.constant(x), 2).value().to_vector() ==
        lstm(tape.constant(x), state).value().to_vector());
}

TEST_CASE("parameters: saved and loaded to the same bits, or an error that says what differs") {
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "line.safetensors";
  Line line(DType::float32), other(DType::float32);
  ops::fill(other.parameters.values(), 0.5);
  other.parameters.save(file, {{"format", "pt"}});
  line.parameters.load(file);
  CHECK(line.parameters.at("line.weight").value().to_vector() == std::vector<double>{0.5});
  CHECK(read_safetensors(file).metadata.at("format") == "pt");

  ParameterSet wider;
  const Linear layer(wider, "line", 2, 1);
  CHECK_THROWS_WITH_AS(wider.load(file),
                       "tensor 'line.weight' has shape (1, 1), but this model needs (1, 2)", Error);
}

}  // namespace nine::tests::test_simple_trainer
