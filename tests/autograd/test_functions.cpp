// The operators and usual functions on variables: which argument is broadcast, numbers as
// arguments, values against PyTorch's definitions, and errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/values.h"
#include "core/ops.h"
#include "tests/support/support.h"

namespace nine::tests::test_functions {

using namespace nine::checks;

namespace {

Arena& pool() {
  static Arena arena("test_functions");
  return arena;
}

// Uniform in [0.5, 2): no divisor is close to 0.
Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype = DType::float64) {
  return tensor_of(random_values({{shape, 0.5, 2}}, seed)[0], shape, dtype);
}

struct Result {
  Shape shape;
  Doubles value, da, db;
};
template <class F>
Result run(F&& f, const Tensor& a, const Tensor& b) {
  Tape tape(pool());
  const Var x = tape.leaf(a), y = tape.leaf(b), z = f(x, y);
  Result r{z.shape(), z.value().to_vector(), {}, {}};
  const Tensor weights = random_tensor(z.shape(), 3, z.dtype());
  tape.backward(sum(mul(z, tape.constant(weights))));
  r.da = x.grad().to_vector();
  r.db = y.grad().to_vector();
  return r;
}
void check_equal(const Result& a, const Result& b) {
  CHECK(a.shape == b.shape);
  CHECK(a.value == b.value);
  CHECK(a.da == b.da);
  CHECK(a.db == b.db);
}

// f(x) as doubles, without gradients.
template <class F>
Doubles value_of(F&& f, const Tensor& x) {
  Tape tape(pool());
  return f(tape.constant(x)).value().to_vector();
}

using Vars = std::span<const Var>;
const std::pair<Shape, Shape> kBroadcasts[] = {
    {{}, {}}, {{}, {1}}, {{}, {3, 4}}, {{4}, {4}}, {{4}, {3, 4}}, {{4}, {1, 4}}, {{4}, {2, 3, 4}}};

}  // namespace

TEST_CASE("operators: the same as the functions, either argument broadcast") {
  for (const auto& pair : kBroadcasts)
    for (const bool turned : {false, true}) {
      const Shape &small = pair.first, &shape = pair.second;
      const Tensor a = random_tensor(turned ? shape : small, 1),
                   b = random_tensor(turned ? small : shape, 2);
      CAPTURE(to_text(a.shape()));
      CAPTURE(to_text(b.shape()));
      const auto plus = [](const Var& x, const Var& y) { return x + y; };
      const auto minus = [](const Var& x, const Var& y) { return x - y; };
      const auto times = [](const Var& x, const Var& y) { return x * y; };
      const auto over = [](const Var& x, const Var& y) { return x / y; };
      check_equal(run(plus, a, b), run(add, a, b));
      check_equal(run(minus, a, b), run(sub, a, b));
      check_equal(run(times, a, b), run(mul, a, b));
      check_equal(run(over, a, b), run(nine::div, a, b));
      CHECK(run(plus, a, b).shape == shape);

      // What is broadcast by hand gives the same value and, summed, the same gradients.
      const auto by_hand = [&](auto f) {
        return [&, f](const Var& x, const Var& y) {
          return f(broadcast_to(x, shape), broadcast_to(y, shape));
        };
      };
      check_equal(run(plus, a, b), run(by_hand(plus), a, b));
      check_equal(run(minus, a, b), run(by_hand(minus), a, b));
      check_equal(run(times, a, b), run(by_hand(times), a, b));
      check_equal(run(over, a, b), run(by_hand(over), a, b));
    }
}

TEST_CASE("operators: a number is a tensor of its value") {
  for (const DType dtype : {DType::float64, DType::float32}) {
    const Tensor x = random_tensor({3, 5}, 1, dtype);
    const auto expect = [&](auto f, auto exact) {
      const Doubles y = value_of(f, x), in = x.to_vector();
      for (size_t i = 0; i < in.size(); ++i) {
        const double want = dtype == DType::float64
                                ? exact(in[i])
                                : static_cast<double>(exact(static_cast<float>(in[i])));
        CHECK(y[i] == want);
      }
    };
    // Halves and thirds: the second shows a quotient that was rounded twice.
    expect([](const Var& v) { return v + 1.5; }, [](auto v) { return v + decltype(v)(1.5); });
    expect([](const Var& v) { return 1.5 + v; }, [](auto v) { return decltype(v)(1.5) + v; });
    expect([](const Var& v) { return v - 0.1; }, [](auto v) { return v - decltype(v)(0.1); });
    expect([](const Var& v) { return 0.1 - v; }, [](auto v) { return decltype(v)(0.1) - v; });
    expect([](const Var& v) { return v * 0.1; }, [](auto v) { return v * decltype(v)(0.1); });
    expect([](const Var& v) { return 3 * v; }, [](auto v) { return decltype(v)(3) * v; });
    expect([](const Var& v) { return v / 3; }, [](auto v) { return v / decltype(v)(3); });
    expect([](const Var& v) { return 3 / v; }, [](auto v) { return decltype(v)(3) / v; });
    expect([](const Var& v) { return -v; }, [](auto v) { return -v; });
  }
  const auto report = gradcheck(
      [](Vars x) { return 3 / (1 - 2 * -x[0]) + (x[0] / 7 - 0.5) * (x[0] + 2) * 0.3 - (4 + x[0]); },
      {random_tensor({3, 5}, 1)});
  CHECK_MESSAGE(report.worst < 1e-8, report.where);
}

TEST_CASE("operators: 1 / (1 + exp(-x)) and tanh(x * w + b)") {
  const Tensor x = random_tensor({3, 4}, 1), w = random_tensor({4}, 2), b = random_tensor({}, 3);
  Tape tape(pool());
  const Var v = tape.constant(x), y = 1 / (1 + exp(-v)),
            z = tanh(v * tape.constant(w) + tape.constant(b));
  const Doubles in = x.to_vector(), weight = w.to_vector(), ys = y.value().to_vector(),
                zs = z.value().to_vector();
  for (size_t i = 0; i < in.size(); ++i) {
    CHECK(ys[i] == doctest::Approx(1 / (1 + std::exp(-in[i]))).epsilon(1e-15));
    CHECK(zs[i] == doctest::Approx(std::tanh(in[i] * weight[i % 4] + b.item())).epsilon(1e-15));
  }
  const auto report = gradcheck([](Vars u) { return tanh(u[0] * u[1] + u[2]); }, {x, w, b});
  CHECK_MESSAGE(report.worst < 1e-8, report.where);
}

TEST_CASE("broadcast_to: repeats a row or a number, and sums the gradient") {
  Tape tape(pool());
  const Var row = tape.leaf(Tensor::from<double>({1, -0.0, 3}, {3})),
            one = tape.leaf(Tensor::from<double>({7}, {}));
  const Var y = broadcast_to(row, {2, 3}), z = broadcast_to(one, {2, 2});
  CHECK(y.value().to_vector() == Doubles{1, 0, 3, 1, 0, 3});
  CHECK(std::signbit(y.value().to_vector()[4]));
  CHECK(z.value().to_vector() == Doubles{7, 7, 7, 7});
  CHECK(broadcast_to(row, {3}).value().view().data == row.value().view().data);
  tape.backward(sum(y) + sum(z));
  CHECK(row.grad().to_vector() == Doubles{2, 2, 2});
  CHECK(one.grad().to_vector() == Doubles{4});
  const auto report = gradcheck(
      [](Vars x) {
        return broadcast_to(x[0], {2, 3, 4}) * broadcast_to(x[1], {2, 3, 4});
      },
      {random_tensor({4}, 1), random_tensor({}, 2)});
  CHECK_MESSAGE(report.worst < 1e-8, report.where);
}

TEST_CASE("functions: shapes that do not agree are an Error that names both in their order") {
  Arena other_arena("other");
  Tape tape(pool()), other(other_arena);
  const auto leaf = [&](const Shape& s) { return tape.leaf(Tensor(s, DType::float64)); };
  const Var a = leaf({2, 3}), b = leaf({2}), c = leaf({3, 2}), wide = leaf({1});
  const std::string said = error_of([&] { add(a, b); });
  CHECK_MESSAGE(has(said, "[add] shapes (2, 3) and (2) do not agree"), said);
  CHECK(has(error_of([&] { b + a; }), "[add] shapes (2) and (2, 3)"));
  CHECK(has(error_of([&] { b - a; }), "[sub] shapes (2) and (2, 3)"));
  CHECK(has(error_of([&] { a* c; }), "[mul] shapes (2, 3) and (3, 2)"));
  CHECK(has(error_of([&] { c / a; }), "[div] shapes (3, 2) and (2, 3)"));
  CHECK((a + wide).shape() == Shape{2, 3});  // as in NumPy, any dimension of 1 is repeated
  CHECK(has(error_of([&] { broadcast_to(a, {3}); }), "[broadcast_to] (2, 3) cannot"));
  CHECK(has(error_of([&] { broadcast_to(b, {2, 3}); }), "(2) cannot be broadcast to (2, 3)"));
  CHECK(has(error_of([&] { mse_loss(a, c); }), "[mse_loss] x has shape (2, 3)"));
  CHECK(has(error_of([&] { mse_loss(a, b); }), "(2)"));

  const Var elsewhere = other.leaf(Tensor({2, 3}, DType::float64));
  CHECK(has(error_of([&] { a* elsewhere; }), "another tape"));
  CHECK(has(error_of([&] { a - tape.leaf(Tensor({2, 3}, DType::float32)); }), "mixes"));
  CHECK(has(error_of([&] { tape.leaf(Tensor({}, DType::float32)) / a; }), "mixes"));
  CHECK(has(error_of([&] { Var() + a; }), "empty Var"));
  CHECK(has(error_of([&] { a* Var(); }), "empty Var"));
  CHECK(has(error_of([&] { tape.leaf(Tensor({2}, DType::bfloat16)) * 2; }), "bfloat16"));
}

TEST_CASE("functions: gradients of sqrt, abs, gelu, gelu_tanh, softmax and the losses") {
  const Tensor x = tensor_of(random_values({{{5, 6}, -4, 4}}, 1)[0], {5, 6}, DType::float64),
               targets = Tensor::from<int32_t>({3, -1, 0, 5, -1}, {5});
  const auto worst = [&](auto f, const Tensor& at) {
    return gradcheck([&](Vars v) { return f(v[0]); }, {at}).worst;
  };
  CHECK(worst([](const Var& v) { return sqrt(v); }, random_tensor({5, 6}, 1)) < 1e-8);
  CHECK(worst([](const Var& v) { return abs(v); }, x) < 1e-8);
  CHECK(worst(gelu, x) < 1e-8);
  CHECK(worst(gelu_tanh, x) < 1e-8);
  CHECK(worst([](const Var& v) { return softmax(v); }, x) < 1e-8);
  CHECK(worst([](const Var& v) { return mean(v); }, x) < 1e-8);
  CHECK(worst([&](const Var& v) { return cross_entropy(v, targets); }, x) < 1e-8);
  CHECK(
      gradcheck([](Vars v) { return mse_loss(v[0], v[1]); }, {x, random_tensor({5, 6}, 1)}).worst <
      1e-8);
}

TEST_CASE("functions: sqrt and abs at 0") {
  Tape tape(pool());
  const Var x = tape.leaf(Tensor::from<double>({0, 4}, {2})),
            y = tape.leaf(Tensor::from<double>({0, -0.0, -4}, {3}));
  CHECK(abs(y).value().to_vector() == Doubles{0, 0, 4});
  CHECK_FALSE(std::signbit(abs(y).value().to_vector()[1]));
  tape.backward(sum(sqrt(x)) + sum(abs(y)));
  CHECK(x.grad().to_vector() == Doubles{HUGE_VAL, 0.25});
  CHECK(y.grad().to_vector() == Doubles{0, 0, -1});
}

TEST_CASE("functions: gelu and gelu_tanh are PyTorch's") {
  // torch.nn.functional.gelu of these points in float64, without and with approximate='tanh', by
  // PyTorch 1.12.1. Its 1 + erf and 1 + tanh lose digits for x < 0, so the distance is absolute;
  // tests/core/test_vmath.cpp has the relative errors.
  const Doubles points = {-10, -3.5, -1, -0.25, 0.5, 1, 2.75, 6},
                exact = {-0.0,
                         -0.0008142017766243903,
                         -0.15865525393145702,
                         -0.10032341857926907,
                         0.34573123063700656,
                         0.841344746068543,
                         2.7418056511035998,
                         5.999999994080474},
                by_tanh = {-0.0,
                           -0.0006161976553737403,
                           -0.1588080093917233,
                           -0.100324649298315,
                           0.34571400982514394,
                           0.8411919906082768,
                           2.742276855926382,
                           5.9999999999156035};
  const Tensor x = Tensor::from<double>(points, {8});
  const Doubles a = value_of(gelu, x), b = value_of(gelu_tanh, x);
  for (size_t i = 0; i < points.size(); ++i) {
    CAPTURE(points[i]);
    CHECK(std::abs(a[i] - exact[i]) < 2e-16 * std::max(1.0, std::abs(points[i])));
    CHECK(std::abs(b[i] - by_tanh[i]) < 2e-16 * std::max(1.0, std::abs(points[i])));
  }
}

TEST_CASE("functions: gelu and gelu_tanh far out") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::float64, DType::float32}) {
    const Doubles points = {kInf, 1e30, 50, -50, -1e30, -kInf, std::nan(""), 0, -0.0};
    for (const auto f : {gelu, gelu_tanh}) {
      Tape tape(pool());
      const Var x = tape.leaf(tensor_of(points, {9}, dtype)), y = f(x);
      const Doubles v = y.value().to_vector();
      CHECK(v[0] == kInf);
      CHECK(v[1] == doctest::Approx(1e30).epsilon(1e-6));
      CHECK(v[2] == 50);
      for (const size_t i : {size_t{3}, size_t{4}, size_t{5}}) CHECK(std::abs(v[i]) < 1e-300);
      CHECK(std::isnan(v[6]));
      CHECK(v[7] == 0);
      CHECK(std::signbit(v[8]));
      tape.backward(sum(y));
      const Doubles g = x.grad().to_vector();
      for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) CHECK(g[i] == 1);
      for (const size_t i : {size_t{3}, size_t{4}, size_t{5}}) CHECK(std::abs(g[i]) < 1e-300);
      CHECK(std::isnan(g[6]));
      CHECK(g[7] == 0.5);
    }
  }
}

TEST_CASE("functions: softmax and mean") {
  Tape tape(pool());
  const Var x = tape.constant(Tensor::from<double>({1, 2, 3, 1000, 1000, 1000}, {2, 3}));
  const Doubles p = softmax(x).value().to_vector();
  const double total = std::exp(-2) + std::exp(-1) + 1;
  CHECK(p[0] == doctest::Approx(std::exp(-2) / total).epsilon(1e-14));
  CHECK(p[2] == doctest::Approx(1 / total).epsilon(1e-14));
  for (size_t i = 3; i < 6; ++i) CHECK(p[i] == doctest::Approx(1.0 / 3).epsilon(1e-14));
  const Var m = mean(x);
  CHECK(m.shape() == Shape{});
  CHECK(m.value().item() == doctest::Approx(501).epsilon(1e-15));
  CHECK(mean(cast(x, DType::float32)).dtype() == DType::float32);
}

TEST_CASE("functions: cross_entropy is the mean over the rows that count") {
  // torch.nn.functional.cross_entropy(x, targets, ignore_index=-1) in float64 and its gradient, by
  // PyTorch 1.12.1.
  const Tensor x = Tensor::from<double>({1, -2, 0.5, 0, 3, 1, 2, 2, -1, -4, 1, 0.25}, {4, 3}),
               targets = Tensor::from<int32_t>({2, -1, 0, 1}, {4});
  const double loss = 0.7045898859714912;
  const Doubles gradient = {0.20124963204954193,
                            0.010019629189858006,
                            -0.21126926123939993,
                            0,
                            0,
                            0,
                            -0.1707148162798772,
                            0.16261851705345613,
                            0.008096299226421069,
                            0.0015184744103091704,
                            -0.10797174908292725,
                            0.10645327467261808};
  Tape tape(pool());
  const Var logits = tape.leaf(x), y = cross_entropy(logits, targets);
  CHECK(y.dtype() == DType::float64);
  CHECK(y.shape() == Shape{});
  CHECK(y.value().item() == doctest::Approx(loss).epsilon(1e-15));
  tape.backward(y);
  const Doubles g = logits.grad().to_vector();
  for (size_t i = 0; i < g.size(); ++i) CHECK(std::abs(g[i] - gradient[i]) < 1e-16);
  tape.reset();

  const Var again = tape.leaf(x);
  const std::string none = error_of([&] {
    cross_entropy(again, Tensor::from<int32_t>({-1, -1, -1, -1}, {4}));
  });
  CHECK_MESSAGE(has(none, "[cross_entropy] all of 4 targets are -1"), none);
  const std::string short_by_one = error_of([&] {
    cross_entropy(again, Tensor::from<int32_t>({0, 1, 2}, {3}));
  });
  CHECK_MESSAGE(has(short_by_one, "logits of shape (4, 3) and targets of shape (3)"), short_by_one);
  CHECK(has(error_of([&] { cross_entropy(again, Tensor({4}, DType::float32)); }), "int32"));
  CHECK(has(error_of([&] {
              cross_entropy(again, Tensor::from<int32_t>({0, 1, 2, 3}, {4}));
            }),
            "position 3"));
}

TEST_CASE("functions: cast to and from bfloat16 passes the gradient on") {
  Tape tape(pool());
  const Tensor stored({3}, DType::bfloat16);
  ops::copy(Tensor::from<float>({1, -2, 0.5f}, {3}), stored);
  const Var b = tape.leaf(stored), x = tape.leaf(Tensor::from<float>({1.001f, 2, 3}, {3}));
  // Used once: its gradient is written. 1 + 2^-9 and 3 are no bfloat16 and one.
  const Var once =
      cast(b, DType::float32) * tape.constant(Tensor::from<float>({1 + 0x1p-9f, 3, -4}, {3}));
  // By way of bfloat16, whose rounding counts as the identity: x gets 2 y as a bfloat16.
  const Var rounded = square(cast(cast(x, DType::bfloat16), DType::float32));
  CHECK(rounded.value().to_vector() == Doubles{1, 4, 9});
  tape.backward(sum(once) + sum(rounded));
  CHECK(b.grad().dtype() == DType::bfloat16);
  CHECK(b.grad().to_vector() == Doubles{1, 3, -4});
  CHECK(x.grad().to_vector() == Doubles{2, 4, 6});
  tape.reset();

  // Used three times: the contributions are added, in float32 and in float64 alike.
  const Var c = tape.leaf(stored), y = cast(c, DType::float32), z = cast(c, DType::float64);
  tape.backward(sum(y * 2) + cast(sum(z * 3), DType::float32) + sum(cast(c, DType::float32)));
  CHECK(c.grad().to_vector() == Doubles{6, 6, 6});
  CHECK(has(error_of([&] {
              tape.reset();
              tanh(tape.leaf(stored));
            }),
            "got bfloat16"));
}

}  // namespace nine::tests::test_functions
