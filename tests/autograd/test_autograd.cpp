// The tape: how gradients add up, what is recorded, what its values' memory is, and the errors of
// misuse.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/recompute.h"
#include "checks/values.h"
#include "core/error.h"
#include "core/ops.h"
#include "kernels/loss/kernel_softmax.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensors.h"
#include "tests/support/support.h"

namespace nine::tests::test_autograd {

using namespace nine::checks;

TEST_CASE("tape: the header's example") {
  Arena pool("step");
  Tape tape(pool);
  const Var x = tape.leaf(Tensor::from<double>({1, 2, 3}, {3}));
  tape.backward(sum(tanh(x)));
  const Doubles g = x.grad().to_vector();
  for (int i = 0; i < 3; ++i)
    CHECK(g[static_cast<size_t>(i)] ==
          doctest::Approx(1 - std::pow(std::tanh(i + 1.0), 2)).epsilon(1e-14));
}

TEST_CASE("tape: two micro-batches give the gradients of one batch") {
  const Tensor x = random_tensor({8, 5}, 1),
               targets = Tensor::from<int32_t>({0, 3, 2, -1, 1, 1, 4, 0}, {8});
  const auto gradients = [&](int parts) {
    Parameter w = random_parameter({6, 5}, 2), b = random_parameter({6}, 3),
              head = random_parameter({5, 6}, 4);
    Arena pool("step");
    Tape tape(pool);
    const int64_t rows = 8 / parts;
    for (int i = 0; i < parts; ++i) {
      const Tensor part = x.row_range(i * rows, rows);
      const Tensor target =
          Tensor::from<int32_t>(std::vector<int32_t>(targets.data<int32_t>() + i * rows,
                                                     targets.data<int32_t>() + (i + 1) * rows),
                                {rows});
      const Var h = tanh(linear(tape.constant(part), tape.parameter(w), tape.parameter(b)));
      tape.backward(kernel_softmax({}, h, {{tape.parameter(head)}}, target, 1.0 / 7).loss);
      tape.reset();
    }
    return std::vector<Doubles>{w.grad().to_vector(), b.grad().to_vector(),
                                head.grad().to_vector()};
  };
  const auto one = gradients(1), two = gradients(2), four = gradients(4);
  for (size_t i = 0; i < one.size(); ++i) {
    CHECK(relative_error(two[i], one[i]) < 1e-12);
    CHECK(relative_error(four[i], one[i]) < 1e-12);
  }
}

TEST_CASE("tape: has_grad says whether a gradient overwrites or adds") {
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({3}, 1), unused = random_parameter({3}, 2);
  ops::fill(p.grad(), std::nan(""));
  ops::fill(unused.grad(), 5);
  const auto step = [&] {
    const Var x = tape.parameter(p), y = tape.parameter(unused);
    CHECK(y.needs_grad());
    tape.backward(sum(scale(x, 2)));
    tape.reset();
  };
  step();
  CHECK(p.has_grad);
  CHECK(p.grad().to_vector() == Doubles{2, 2, 2});
  step();
  CHECK(p.grad().to_vector() == Doubles{4, 4, 4});
  p.has_grad = false;
  step();
  CHECK(p.grad().to_vector() == Doubles{2, 2, 2});
  CHECK_FALSE(unused.has_grad);
  CHECK(unused.grad().to_vector() == Doubles{5, 5, 5});
}

TEST_CASE("tape: a function that touches part of its input overwrites the rest with zero") {
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({4, 3}, 1);
  ops::fill(p.grad(), std::nan(""));
  tape.backward(sum(row_range(tape.parameter(p), 1, 2)));
  CHECK(p.grad().to_vector() == Doubles{0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0});
  tape.reset();
  p.has_grad = false;
  ops::fill(p.grad(), std::nan(""));
  tape.backward(sum(embedding(tape.parameter(p), Tensor::from<int32_t>({3, 0, 3}, {3}))));
  CHECK(p.grad().to_vector() == Doubles{1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2});
}

TEST_CASE("tape: a value used twice gets the sum of its gradients") {
  Arena pool("step");
  Tape tape(pool);
  const Var x = tape.leaf(Tensor::from<double>({0.5, -1, 2}, {3}));
  // A residual branch around an intermediate value, which in turn is used three times.
  const Var h = square(x), y = add(h, add(tanh(h), mul(h, h)));
  tape.backward(sum(add(y, x)));
  const Doubles g = x.grad().to_vector();
  const double values[] = {0.5, -1, 2};
  for (size_t i = 0; i < 3; ++i) {
    const double v = values[i], hv = v * v, th = std::tanh(hv);
    CHECK(g[i] == doctest::Approx((1 + 1 - th * th + 2 * hv) * 2 * v + 1).epsilon(1e-13));
  }
}

TEST_CASE("tape: one Var as several inputs of a function gets the sum of their gradients") {
  const Tensor state = random_tensor({2, 3}, 1), row = random_tensor({3}, 2),
               w = random_tensor({12, 3}, 3), b = random_tensor({12}, 4);
  const auto right = [](const std::function<Var(const Var& x, Tape& tape)>& f,
                        const Tensor& input) {
    const GradcheckReport r =
        gradcheck([&](std::span<const Var> x) { return f(x[0], x[0].tape()); }, {input});
    CHECK_MESSAGE(r.worst < 1e-8, r.where);
  };
  right(
      [&](const Var& x, Tape& t) {  // the input is both states too
        return lstm(x, {t.constant(w), t.constant(w), t.constant(b), t.constant(b)}, {x, x}).y;
      },
      state);
  right(
      [&](const Var& x, Tape& t) {
        const Var s = t.constant(state);
        return lstm(s, {x, x, t.constant(b), t.constant(b)}, {s, s}).y;
      },
      w);
  right([&](const Var& x, Tape& t) { return layer_norm(t.constant(state), x, x); }, row);
  right([&](const Var& x, Tape&) { return layer_norm(x, x, x); }, row);
}

TEST_CASE("tape: losses add up, and what the loss does not reach gets nothing") {
  Arena pool("step");
  Tape tape(pool);
  const Var x = tape.leaf(random_tensor({4}, 1)), y = tape.leaf(random_tensor({4}, 2));
  const Var a = sum(square(x)), b = sum(x);
  exp(y);
  tape.backward(add(a, b));
  const Doubles g = x.grad().to_vector(), v = x.value().to_vector();
  for (size_t i = 0; i < 4; ++i) CHECK(g[i] == doctest::Approx(2 * v[i] + 1).epsilon(1e-14));
  CHECK(has(error_of([&] { y.grad(); }), "no gradient reached this leaf of shape (4)"));
  CHECK(has(error_of([&] { a.grad(); }), "'sum'"));
}

TEST_CASE("tape: NoGrad records nothing") {
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({4, 3}, 1);
  {
    const NoGrad off(tape);
    const Var x = tape.parameter(p), y = sum(tanh(x));
    CHECK_FALSE(x.needs_grad());
    CHECK_FALSE(y.needs_grad());
    CHECK(has(error_of([&] { tape.backward(y); }), "NoGrad"));
  }
  CHECK(tape.recording());
  tape.reset();

  // A parameter that joined the tape before NoGrad began.
  const Var w = tape.parameter(p);
  {
    const NoGrad off(tape);
    CHECK_FALSE(sum(w).needs_grad());
    CHECK_FALSE(row_range(w, 0, 2).needs_grad());
    kernel_softmax({}, tape.constant(random_tensor({2, 3}, 2)), {{w}},
                   Tensor::from<int32_t>({1, 2}, {2}), 1);
    CHECK_FALSE(p.has_grad);
  }
  tape.backward(sum(w));
  CHECK(p.grad().to_vector() == Doubles(12, 1.0));
}

TEST_CASE("tape: NoGrad nests and ends with an exception") {
  Arena pool("step");
  Tape tape(pool);
  try {
    const NoGrad outer(tape);
    { const NoGrad inner(tape); }
    CHECK_FALSE(tape.recording());
    fail("on purpose");
  } catch (const Error&) {
  }
  CHECK(tape.recording());
}

TEST_CASE("tape: misuse is an Error") {
  Arena pool("step");
  Tape tape(pool), other(pool);
  const Var x = tape.leaf(random_tensor({2, 3}, 1));
  CHECK(has(error_of([&] { tape.backward(x); }), "(2, 3)"));
  CHECK(
      has(error_of([&] { tape.backward(sum(tape.constant(random_tensor({3}, 1)))); }), "no leaf"));
  CHECK_THROWS_AS(tanh(x).grad(), Error);
  CHECK_THROWS_AS(concat_rows({}), Error);
  CHECK_THROWS_AS(matmul(x, x), Error);
  CHECK_THROWS_AS(add(x, tape.constant(random_tensor({2}, 1))), Error);
  const Var y = tanh(x);
  const Tensor value = y.value();
  tape.reset();
  CHECK(has(error_of([&] { x.value(); }), "after its step"));
  CHECK(has(error_of([&] { tanh(y); }), "after its step"));
  CHECK(has(error_of([&] { (void)value.view(); }), "clone()"));
  CHECK(has(error_of([&] { (void)value.to_vector(); }), "'step'"));
  // Of the next step's values none is mistaken for the old one.
  tape.leaf(random_tensor({2, 3}, 2));
  CHECK_THROWS_AS(x.value(), Error);
}

TEST_CASE("tape: anomaly detection names the op, the direction and the step") {
  Arena pool("step");
  Tape tape(pool);
  tape.set_anomaly_detection(true);
  tape.set_random_key({.step = 17});
  const auto said = [&](auto&& f) {
    std::string text = error_of([&] {
      f(tape.leaf(Tensor::from<double>({-1, 0, 2, 1e-320}, {4})));
    });
    tape.reset();
    return text;
  };
  const std::string forward = said([&](const Var& x) { tape.backward(sum(log(tanh(x)))); });
  CHECK_MESSAGE(has(forward, "[log] the forward pass of step 17"), forward);
  CHECK_MESSAGE(has(forward, "(4)"), forward);

  // 1 / 1e-320 overflows in the gradient of a quotient whose value is finite; the numerator came
  // out of a scale.
  const auto quotient = [&](const Var& x) {
    const Var zero = scale(x, 0),
              tiny = tape.constant(Tensor::from<double>({1, 1, 1, 1e-320}, {4}));
    tape.backward(sum(div(zero, tiny)));
  };
  const std::string backward = said(quotient);
  CHECK_MESSAGE(has(backward, "[div] the backward pass of step 17"), backward);
  // The same where the gradient goes straight into a parameter.
  Parameter p = random_parameter({4}, 1);
  ops::fill(p.value(), 0);
  const std::string into = said([&](const Var& x) {
    const Var tiny = tape.constant(Tensor::from<double>({1, 1, 1, 1e-320}, {4}));
    tape.backward(sum(add(x, div(tape.parameter(p), tiny))));
  });
  CHECK_MESSAGE(has(into, "[div] the backward pass of step 17"), into);

  // bfloat16 is searched, too.
  const auto through = [&](const Var& x, double factor) {
    tape.backward(sum(cast(cast(x * factor, DType::bfloat16), DType::float64)));
  };
  CHECK(said([&](const Var& x) { through(x, 2); }) == "");
  // 1e300 is infinite as a bfloat16.
  const std::string cast_to = said([&](const Var& x) { through(x, 1e300); });
  CHECK_MESSAGE(has(cast_to, "[cast] the forward pass of step 17"), cast_to);
  const std::string cast_back = said([&](const Var& x) {
    tape.backward(sum(cast(cast(x, DType::bfloat16), DType::float64) * 1e300));
  });
  CHECK_MESSAGE(has(cast_back, "[cast] the backward pass of step 17"), cast_back);

  CHECK(said([&](const Var& x) { tape.backward(sum(tanh(x))); }) == "");
  tape.set_anomaly_detection(false);
  CHECK(said(quotient) == "");
}

TEST_CASE("tape: dropout draws by step and stream, and backward draws the same") {
  Arena pool("step");
  Tape tape(pool);
  const Tensor ones({40, 50}, DType::float64);
  ops::fill(ones, 1);
  const auto mask = [&](uint32_t step, const char* stream) {
    tape.set_random_key({.step = step});
    const Var x = tape.leaf(ones), y = dropout(x, 0.25, stream);
    Doubles value = y.value().to_vector();
    tape.backward(sum(y));
    CHECK(x.grad().to_vector() == value);
    tape.reset();
    return value;
  };
  const Doubles first = mask(1, "a");
  CHECK(mask(1, "a") == first);
  CHECK(mask(2, "a") != first);
  CHECK(mask(1, "b") != first);
  const auto zeros = std::count(first.begin(), first.end(), 0.0);
  CHECK(zeros > 430);  // 500 +- 19
  CHECK(zeros < 570);
  const NoGrad off(tape);
  CHECK(dropout(tape.constant(ones), 0.25, "a").value().to_vector() == ones.to_vector());
}

namespace {
std::vector<size_t> g_marks;  // what is saved when a noting() node's backward runs

Var noting(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("noting", x.shape(), x.dtype(), {x});
  ops::scale(1, x.value(), {y.value()});
  return tape.record(y, [x, y] {
    g_marks.push_back(x.tape().arena().saved_mark());
    ops::scale(1, y.grad_output(), x.grad_input());
  });
}
}  // namespace

TEST_CASE(
    "tape: saved memory is released as the tape unwinds, gradients of a chain take two blocks") {
  constexpr int kDepth = 100;
  constexpr size_t kBytes = 64 * 64 * sizeof(double);
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({64, 64}, 1);
  g_marks.clear();
  Var x = tape.parameter(p);
  for (int i = 0; i < kDepth; ++i) x = noting(x);
  const Var loss = sum(x);
  const size_t saved = pool.saved_mark();
  CHECK(saved >= kDepth * kBytes);
  tape.backward(loss);
  REQUIRE(g_marks.size() == kDepth);
  for (size_t i = 0; i < kDepth; ++i) CHECK(g_marks[i] == (kDepth - i) * kBytes);
  CHECK(pool.saved_mark() == 0);
  CHECK(pool.peak_bytes() <= saved + 4 * kBytes);
}

TEST_CASE("tape: residual branches reuse their gradients' blocks") {
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({64, 64}, 1);
  constexpr size_t kBytes = 64 * 64 * sizeof(double);
  Var x = tape.parameter(p);
  for (int i = 0; i < 50; ++i) x = add(x, scale(tanh(x), 0.01));
  const Var loss = sum(x);
  const size_t saved = pool.saved_mark();
  tape.backward(loss);
  CHECK(pool.peak_bytes() <= saved + 6 * kBytes);
}

TEST_CASE("tape: outputs that nobody uses count as zero gradients") {
  Arena pool("step");
  Tape tape(pool);
  const auto leaf = [&](const Shape& s, uint64_t seed) {
    return tape.leaf(random_tensor(s, seed));
  };
  const Var x = leaf({6, 3}, 1), h0 = leaf({2, 4}, 2), c0 = leaf({2, 4}, 3);
  const LstmWeights w{leaf({16, 3}, 4), leaf({16, 4}, 5), leaf({16}, 6), leaf({16}, 7)};
  const LstmOutput out = lstm(x, w, {h0, c0});
  tape.backward(sum(out.last.c));
  for (const double g : x.grad().to_vector()) CHECK(std::isfinite(g));
  CHECK(relative_error(w.b_ih.grad().to_vector(), w.b_hh.grad().to_vector()) == 0);
}

namespace {
// Gradients that are wrong on purpose.
Var cube_with_square_gradient(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("wrong", x.shape(), x.dtype(), {x});
  ops::binary(ops::Binary::mul, x.value(), x.value(), {y.value()});
  ops::binary(ops::Binary::mul, y.value(), x.value(), {y.value()});
  return tape.record(y, [x, y] {
    ops::unary_backward(ops::Unary::square, x.value(), y.value(), y.grad_output(), x.grad_input());
  });
}
// Right in sum, wrong in place: the columns of the gradient are turned round.
Var identity_with_turned_gradient(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("turned", x.shape(), x.dtype(), {x});
  ops::scale(1, x.value(), {y.value()});
  return tape.record(y, [x, y] {
    const View dx = x.grad_input().view, dy = y.grad_output();
    for (int64_t c = 0; c < x.shape().cols(); ++c)
      ops::scale(1, dy.col_range(c, 1), {dx.col_range(x.shape().cols() - 1 - c, 1)});
  });
}
// One element is off.
Var identity_with_one_wrong(const Var& x) {
  Tape& tape = x.tape();
  const Var y = tape.result("one", x.shape(), x.dtype(), {x});
  ops::scale(1, x.value(), {y.value()});
  return tape.record(y, [x, y] {
    const View dx = x.grad_input().view;
    ops::scale(1, y.grad_output(), {dx});
    dx.as<double>()[7] += 0.5;
  });
}
}  // namespace

TEST_CASE(
    "gradcheck: catches wrong gradients, names the worst element and leaves inputs as they were") {
  const Tensor a = random_tensor({3, 4}, 1), b = random_tensor({3, 4}, 2);
  const Doubles before = b.to_vector();
  CHECK(
      gradcheck([](std::span<const Var> x) { return cube_with_square_gradient(x[0]); }, {a}).worst >
      0.1);
  CHECK(gradcheck([](std::span<const Var> x) { return identity_with_turned_gradient(x[0]); }, {a})
            .worst > 0.01);
  const GradcheckReport r = gradcheck(
      [](std::span<const Var> x) { return add(x[0], identity_with_one_wrong(x[1])); }, {a, b});
  CHECK(r.worst > 0.3);
  CHECK_MESSAGE(has(r.where, "input 1 of shape (3, 4), element 7: analytic "), r.where);
  CHECK(r.checked == 24);
  CHECK(b.to_vector() == before);
  CHECK(gradcheck([](std::span<const Var> x) { return add(x[0], tanh(x[1])); }, {a, b}).worst <
        1e-8);
  CHECK(gradcheck([](std::span<const Var> x) { return mul(x[0], tanh(x[1])); }, {a, a}).worst <
        1e-8);  // inputs that share memory
  CHECK(gradcheck([](std::span<const Var> x) { return tanh(x[0]); }, {random_tensor({50, 50}, 1)},
                  {.max_elements = 10})
            .checked == 10);
  CHECK_THROWS_AS(gradcheck([](std::span<const Var> x) { return tanh(x[0]); },
                            {random_tensor({3}, 1, DType::float32)}),
                  Error);
  // 0 agrees with 0: of an input that the function ignores nothing is checked.
  CHECK(r.vanished.empty());
  CHECK(gradcheck([](std::span<const Var> x) { return add(x[0], scale(x[1], 0)); }, {a, b})
            .vanished == std::vector<size_t>{1});
}

TEST_CASE("recomputed: after an Error in the backward pass, the tape goes on") {
  const Tensor input = random_tensor({1000}, 1);
  const auto f = [](const Var& a, const Var&) { return tanh(exp(tanh(exp(tanh(a))))); };
  const auto gradient = [&](Tape& tape) {
    const Var x = tape.leaf(input);
    tape.backward(sum(recomputed(x, {}, f)));
    Doubles slopes = x.grad().to_vector();
    tape.reset();
    return slopes;
  };
  Arena whole("whole");
  Tape roomy(whole);
  const Doubles expected = gradient(roomy);
  int failures = 0;
  // Every size of the pool that is too small, also where the pool is full in the middle of
  // backward.
  for (size_t bytes = 16'384;; bytes += 4'096) {
    Arena pool("small", kCpu, bytes);
    Tape tape(pool);
    try {
      const Doubles slopes = gradient(tape);  // CHECK would catch the exception
      CHECK(slopes == expected);
      break;
    } catch (const OutOfMemory&) {
      ++failures;
    }
    tape.reset();
    const Var little = tape.leaf(random_tensor({10}, 2));
    CHECK_NOTHROW(tape.backward(sum(recomputed(little, {}, f))));
  }
  CHECK(failures > 5);
}

TEST_CASE("tape: after backward nothing wrong can be read or recorded") {
  Arena arena("test");
  Tape tape(arena);
  const Var x = tape.leaf(Tensor::from<double>({1, 2, 3}, {3}));
  const Var h = tanh(x), a = sum(square(h)), b = sum(scale(x, 10));
  tape.backward(a);
  CHECK(has(error_of([&] { tape.backward(b); }), "has run already"));
  CHECK(has(error_of([&] { h.value(); }), "released by backward"));
  CHECK(has(error_of([&] { scale(x, 2); }), "between backward and reset"));
  CHECK(x.value().to_vector() == std::vector<double>{1, 2, 3});
  CHECK(x.grad().to_vector().size() == 3);
  tape.reset();
  CHECK(error_of([&] { tape.backward(sum(tape.leaf(Tensor({2}, DType::float64)))); }).empty());
  CHECK(has(error_of([] { Var().value(); }), "empty Var"));
  Arena other_arena("other");
  Tape other(other_arena);
  const Var y = other.leaf(Tensor({3}, DType::float64));
  tape.reset();
  CHECK(has(error_of([&] { add(tape.leaf(Tensor({3}, DType::float64)), y); }), "another tape"));
}

TEST_CASE("arena: a block freed twice, or asked for inside a Scope, is an Error") {
  Arena arena("test");
  const Tensor block = arena.block({8}, DType::float32);
  arena.free_block(block);
  CHECK(has(error_of([&] { arena.free_block(block); }), "freed twice"));
  const Arena::Scope scope(arena);
  CHECK(has(error_of([&] { arena.block({8}, DType::float32); }), "inside a Scope"));
  CHECK(has(error_of([&] { arena.reset(); }), "inside of a Scope"));
}

}  // namespace nine::tests::test_autograd
