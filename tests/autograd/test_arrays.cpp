// The functions of autograd/arrays.h beside NumPy 2.4.6: golden values, special numbers, errors and
// printing. The table of op cases (tests/core/test_ops.cpp) has values, gradients and threads.
#include "autograd/arrays.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "core/array_ops.h"
#include "core/error.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_arrays {

namespace {

using Doubles = std::vector<double>;

struct Step {
  Arena arena{"test_arrays", kCpu, size_t{16} << 20};
  Tape tape{arena};

  Var of(const Doubles& values, const Shape& shape) {
    return tape.leaf(Tensor::from<double>(values, shape));
  }
  Var ints(const std::vector<int64_t>& values, const Shape& shape) {
    return tape.constant(Tensor::from<int64_t>(values, shape));
  }
};

void check(const Var& y, const Shape& shape, const Doubles& values) {
  CHECK(to_text(y.shape()) == to_text(shape));
  CHECK(relative_error(y.value().to_vector(), values) < 1e-14);
}

std::string printed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}
template <class T>
std::string printed(const std::vector<T>& values, const Shape& shape) {
  return printed(Tensor::from<T>(values, shape));
}

// np.sin(np.arange(24).reshape(2, 3, 4) * 0.5 - 3)
Var sines(Step& step) {
  Doubles x;
  for (int i = 0; i < 24; ++i) x.push_back(std::sin(i * 0.5 - 3));
  return step.of(x, {2, 3, 4});
}

}  // namespace

TEST_CASE("arrays: reductions over dimensions are NumPy's") {
  Step step;
  const Var x = sines(step);
  check(sum(x, {0, 2}), {3}, {-4.590380398196338, -2.570231095152537, 6.729567477081989});
  check(mean(x, 1, true), {2, 1, 4},
        {-0.047040002686622416, -0.02680089870136833, 0.0, 0.02680089870136837,
         -0.05360588929482738, -0.0394411921617576, -0.015619915627824091, 0.012025661015402922});
  check(max(x, {0, 1}), {4},
        {0.8414709848078965, 0.9974949866040544, 0.9893582466233818, 0.7984871126234903});
  check(min(x, -1), {2, 3},
        {-0.9974949866040544, -0.8414709848078965, 0.5984721441039565, -0.977530117665097,
         -0.9589242746631385, 0.6569865987187891});
  check(norm(x, 0), {3, 4},
        {0.1995738293204647, 0.6936986233925614, 1.1830350068092292, 1.3966249959250197,
         1.2757778736174246, 0.8530158252177417, 0.27941549819892586, 0.5254764089289186,
         1.0675695804815977, 1.3692480435369019, 1.343745344398818, 0.9978730261381883});
  check(variance(x, {1, 2}), {2}, {0.5211728123304235, 0.5111527932031458});
  check(variance(x, 2, false, 1), {2, 3},
        {0.14968800180742628, 0.3302509192790129, 0.029300228893624682, 0.24216630935185599,
         0.2648398885577177, 0.02233292727937172});
  CHECK(argmax(x, 1).value().to_vector() == Doubles(8, 2));
  CHECK(argmin(x, 2).value().to_vector() == Doubles{3, 0, 3, 3, 0, 0});
  CHECK(argmax(x, 1).dtype() == DType::int64);
  CHECK(argmax(x, 1, true).shape() == Shape{2, 1, 4});
  check(max(x), {}, {0.9974949866040544});
  check(sum(x, {0, 1, 2}, true), {1, 1, 1}, {-0.43104401626688597});
  CHECK(sum(x, Dims({})).value().to_vector() == x.value().to_vector());
}

TEST_CASE("arrays: reductions of special numbers") {
  Step step;
  const double nan = std::nan("");
  const Var n = step.of({3, nan, -1, 3, 0}, {5});
  CHECK(argmax(n, 0).value().item() == 1);  // NumPy: the first NaN
  CHECK(argmin(n, 0).value().item() == 1);
  CHECK(std::isnan(max(n).value().item()));
  CHECK(std::isnan(min(n).value().item()));
  CHECK(sort(n).ids.value().to_vector() == Doubles{2, 4, 0, 3, 1});
  CHECK(sort(n, 0, true).ids.value().to_vector() == Doubles{1, 0, 3, 4, 2});
  CHECK(topk(n, 2, 0, false).ids.value().to_vector() == Doubles{2, 4});
  // No exponential overflows, and infinities are no NaN.
  check(logsumexp(step.of({1000, 1000, 999, 999}, {2, 2}), 1), {2},
        {1000 + std::log(2.0), 999 + std::log(2.0)});
  CHECK(logsumexp(step.of({-HUGE_VAL, -HUGE_VAL}, {2})).value().item() == -HUGE_VAL);
  CHECK(logsumexp(step.of({-HUGE_VAL, HUGE_VAL}, {2})).value().item() == HUGE_VAL);
  CHECK(argmax(step.of({2, 5, 5}, {3}), 0).value().item() == 1);
  CHECK(sum(step.of({}, {0, 3}), 0).value().to_vector() == Doubles{0, 0, 0});
  CHECK(error_of([&] { max(step.of({}, {0, 3}), 0); }).find("no numbers") != std::string::npos);
}

TEST_CASE("arrays: numbers that are equal share the gradient of the largest") {
  Step step;
  const Var x = step.of({1, 4, 4, 2, 4, 0}, {2, 3});
  step.tape.backward(max(x));
  CHECK(relative_error(x.grad().to_vector(), Doubles{0, 1. / 3, 1. / 3, 0, 1. / 3, 0}) < 1e-15);
  Step other;
  const Var a = other.of({1, 2, 3}, {3}), b = other.of({2, 2, 2}, {3});
  other.tape.backward(sum(maximum(a, b)));
  CHECK(a.grad().to_vector() == Doubles{0, 0.5, 1});
  CHECK(b.grad().to_vector() == Doubles{1, 0.5, 0});
}

TEST_CASE("arrays: a line that threads share") {
  Step step;
  const Var x = step.of(Doubles(100000, 3), {100000});
  const Var y = logsumexp(x);
  CHECK(y.value().item() == doctest::Approx(3 + std::log(1e5)).epsilon(1e-14));
  step.tape.backward(y);
  const Doubles gradient = x.grad().to_vector();
  CHECK(relative_error(gradient, Doubles(100000, 1e-5)) < 1e-12);
  Step other;
  Doubles numbers(100000, 1);
  numbers[70000] = std::nan("");
  CHECK(std::isnan(max(other.of(numbers, {100000})).value().item()));
  numbers[70000] = 7;
  CHECK(max(other.of(numbers, {100000})).value().item() == 7);
}

TEST_CASE("arrays: a norm of zeros has the gradient 0") {
  Step step;
  const Var x = step.of({0, 0, 3, 4}, {2, 2});
  step.tape.backward(sum(norm(x, 1)));
  CHECK(relative_error(x.grad().to_vector(), Doubles{0, 0, 0.6, 0.8}) < 1e-15);
}

TEST_CASE("arrays: functions of one number at special values are NumPy's") {
  Step step;
  CHECK(round(step.of({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}, {6})).value().to_vector() ==
        Doubles{-2, -2, 0, 0, 2, 2});
  const Doubles signs = sign(step.of({-2, 0, 3, std::nan("")}, {4})).value().to_vector();
  CHECK(signs[0] == -1);
  CHECK(signs[1] == 0);
  CHECK(signs[2] == 1);
  CHECK(std::isnan(signs[3]));
  CHECK(pow(step.of({-2, 0}, {2}), 3).value().to_vector() == Doubles{-8, 0});
  CHECK(pow(step.of({0}, {1}), step.of({0}, {1})).value().item() == 1);
  CHECK(relative_error(softplus(step.of({800, -800}, {2})).value().to_vector(), Doubles{800, 0}) <
        1e-15);
  CHECK(std::isnan(clamp(step.of({std::nan("")}, {1}), 0, 1).value().item()));
}

TEST_CASE("arrays: products are NumPy's") {
  Step step;
  Doubles first, second;
  for (int i = 0; i < 8; ++i) {
    first.push_back(i);
    second.push_back(i + 8);
  }
  const Var a = step.of(first, {2, 2, 2}), b = step.of(second, {2, 2, 2});
  check(batched_matmul(a, b), {2, 2, 2}, {10, 11, 46, 51, 118, 127, 170, 183});
  check(einsum("bij,bkj->ki", {a, b}), {2, 2}, {122, 206, 142, 242});
  const Var a0 = reshape(slice(a, 0, 0, 1), {2, 2}), b0 = reshape(slice(b, 0, 0, 1), {2, 2});
  check(einsum("ij,jk", {a0, b0}), {2, 2}, {10, 11, 46, 51});
  check(einsum("ba,bc", {a0, b0}), {2, 2}, {20, 22, 38, 42});
  check(batched_matmul(step.of({1, 2}, {2}), step.of({3, 4}, {2})), {}, {11});
}

TEST_CASE("arrays: comparisons are bool tensors, and cast makes numbers of them") {
  Step step;
  const Var labels = step.ints({2, 0, 1}, {3});
  const Var scores = step.of({0, 1, 5, 3, 1, 2, 9, 8, 7}, {3, 3});
  const Var hits = equal(argmax(scores, -1), labels);
  CHECK(hits.dtype() == DType::boolean);
  CHECK(printed(hits.value()) == "[ True  True False]");
  check(mean(cast(hits, DType::float64)), {}, {2. / 3});
  CHECK(greater_equal(scores, 5).value().to_vector() == Doubles{0, 0, 1, 0, 0, 0, 1, 1, 1});
  CHECK_FALSE(hits.needs_grad());
  CHECK(equal(step.of({std::nan("")}, {1}), std::nan("")).value().item() == 0);
}

TEST_CASE("arrays: ids and targets may be int64") {
  const auto run = [](const Tensor& ids) {
    Step step;
    const Var table = step.of({1, 2, 3, 4, 5, 6}, {3, 2});
    const Var rows = embedding(table, ids);
    CHECK(count_targets(ids) == 3);
    step.tape.backward(cross_entropy(rows, ids));
    return table.grad().to_vector();
  };
  CHECK(run(Tensor::from<int64_t>({1, 0, 1}, {3})) == run(Tensor::from<int32_t>({1, 0, 1}, {3})));
  Step step;
  const Var table = step.of({1, 2, 3}, {3});
  const std::string message = error_of([&] {
    embedding(table, step.ints({0, int64_t{1} << 40}, {2}).value());
  });
  CHECK_MESSAGE(message.find("[embedding] index 2147483647 at position 1") != std::string::npos,
                message);
}

TEST_CASE("arrays: conversion between all types") {
  const double nan = std::nan("");
  const Tensor x = Tensor::from<double>({-2.7, 2.7, nan, 1e300, -1e300, 0}, {6});
  const auto to = [&](DType t) {
    const Tensor y({6}, t);
    ops::convert(x, y);
    return y.to_vector();
  };
  CHECK(to(DType::int32) == Doubles{-2, 2, 0, 2147483647, -2147483648.0, 0});
  CHECK(to(DType::boolean) == Doubles{1, 1, 1, 1, 1, 0});
  const Tensor wide({6}, DType::int64);
  ops::convert(x, wide);
  CHECK(wide.data<int64_t>()[3] == INT64_MAX);
  CHECK(wide.data<int64_t>()[4] == INT64_MIN);
  const Tensor narrow({6}, DType::int32);
  ops::convert(wide, narrow);
  CHECK(narrow.to_vector() == Doubles{-2, 2, 0, 2147483647, -2147483648.0, 0});
  for (const DType from : kDTypes)
    for (const DType type : kDTypes) {
      const Tensor a({3}, from), b({3}, type);
      ops::fill(a, 1);
      ops::convert(a, b);
      CHECK(b.to_vector() == Doubles{1, 1, 1});
    }
}

TEST_CASE("arrays: six dimensions, and types that are not float, can be moved and picked") {
  Step step;
  std::vector<int64_t> values(2 * 3 * 2 * 2 * 3 * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  const Var x = step.ints(values, {2, 3, 2, 2, 3, 2});
  const Var y = permute(x, {5, 4, 3, 2, 1, 0});
  CHECK(y.shape() == Shape{2, 3, 2, 2, 3, 2});
  CHECK(permute(y, {5, 4, 3, 2, 1, 0}).value().to_vector() == x.value().to_vector());
  CHECK(y.value().to_vector()[1] == 72);  // (0, 0, 0, 0, 0, 1) of y is (1, 0, ...) of x
  CHECK(index_select(step.ints({5, 6, 7}, {3}), 0, step.ints({-1, 0}, {2})).value().to_vector() ==
        Doubles{7, 5});
  const Var flags = step.tape.constant(Tensor::from<bool>({true, false}, {2}));
  CHECK(concatenate({flags, flags}, 0).value().to_vector() == Doubles{1, 0, 1, 0});
}

TEST_CASE("arrays: errors say which shapes and types do not fit") {
  Step step;
  const Var x = step.of({1, 2, 3, 4, 5, 6}, {2, 3}), y = step.of({1, 2}, {2});
  const auto says = [](auto&& f, const std::string& text) {
    const std::string message = error_of(f);
    CHECK_MESSAGE(message.find(text) != std::string::npos, message);
  };
  says([&] { add(x, y); }, "[add] shapes (2, 3) and (2) do not agree");
  says([&] { sum(x, 2); }, "[sum] a tensor of shape (2, 3) has no dimension 2");
  says([&] { sum(x, {0, -2}); }, "[sum] dimension -2 of (2, 3) is named twice");
  says([&] { norm(step.ints({1}, {1}), 0); }, "[norm] needs float32 or float64, got int64");
  says([&] { equal(x, step.ints({1}, {1})); }, "[equal] mixes float64 and int64");
  says([&] { where(x, x, x); }, "the condition must be bool, got float64");
  says([&] { concatenate({x, y}, 0); }, "(2, 3) and (2)");
  says([&] { permute(x, {0, 0}); }, "the order must name each dimension of (2, 3) once");
  says([&] { slice(x, 0, 0, 1, 0); }, "a step of 0");
  says([&] { gather(x, 0, y); }, "indices must be int32 or int64, got float64");
  says(
      [&] {
        index_select(x, 1, step.ints({0, 3}, {2}));
      },
      "index 3 at position 1 is outside of [-3, 3)");
  says([&] { topk(x, 4); }, "there are no 4 numbers in dimension 1 of (2, 3)");
  says([&] { batched_matmul(x, x); }, "the inner dimensions differ: (2, 3) x (2, 3)");
  says(
      [&] {
        matmul(step.of(Doubles(24), {2, 3, 4}), step.of(Doubles(24), {2, 4, 3}));
      },
      "batched_matmul()");
  says([&] { einsum("ij,jk->ik", {x}); }, "names 2 tensors, and 1 are given");
  says([&] { einsum("ii->i", {x}); }, "stands once");
  const Var four = reshape(x, {1, 1, x.shape()[0], x.shape()[1]});
  says([&] { einsum("abcd,efgh->abcdefgh", {four, four}); }, "at most 6 are possible");
  says([&] { einsum("ij,ij->ij", {x, transpose(x)}); }, "dimensions of one letter differ");
  says([&] { broadcast_to(x, {2, 4}); }, "(2, 3) cannot be broadcast to (2, 4)");
}

TEST_CASE("tape: a backward function may capture tensors, and the tape releases them") {
  const auto owner = std::make_shared<double>(3);
  Step step;
  const auto triple = [&](const Var& x) {
    const Var y = x.tape().result("triple", x.shape(), x.dtype(), {x});
    const Tensor factor = Tensor::view_of(owner.get(), DType::float64, {}, {}, owner);
    ops::scale(factor.item(), x.value(), {y.value()});
    return x.tape().record(
        y, [x, y, factor] { ops::scale(factor.item(), y.grad_output(), x.grad_input()); });
  };
  const Var x = step.of({1, 2}, {2});
  const Var loss = sum(triple(x));
  CHECK(owner.use_count() == 2);
  step.tape.backward(loss);
  CHECK(owner.use_count() == 1);
  CHECK(x.grad().to_vector() == Doubles{3, 3});
  step.tape.reset();
  triple(step.of({1}, {1}));
  CHECK(owner.use_count() == 2);
  step.tape.reset();  // without backward
  CHECK(owner.use_count() == 1);
}

TEST_CASE("tensors print as in NumPy") {
  CHECK(printed<float>({1, 2.5, 3, 4}, {2, 2}) == "[[1.  2.5]\n [3.  4. ]]");
  CHECK(printed<double>({0.1, 1. / 3, 2. / 3, -1e-3}, {4}) ==
        "[ 0.1         0.33333333  0.66666667 -0.001     ]");
  CHECK(printed<double>({1e-5, 1, 1e10}, {3}) == "[1.e-05 1.e+00 1.e+10]");
  CHECK(printed<double>({std::nan(""), 1.5, -HUGE_VAL, HUGE_VAL}, {4}) == "[ nan  1.5 -inf  inf]");
  CHECK(printed<double>({1e8, 1}, {2}) == "[1.e+08 1.e+00]");
  CHECK(printed<float>({1.f / 3, 2.f / 3, 1e5f}, {3}) ==
        "[3.3333334e-01 6.6666669e-01 1.0000000e+05]");
  CHECK(printed<double>({1e300, 1e-300}, {2}) == "[1.e+300 1.e-300]");
  // The exact number behind the shortest text has another exponent.
  CHECK(printed<float>({1e-5f, 0.30071995f}, {2}) == "[9.9999997e-06 3.0071995e-01]");
  CHECK(printed<double>({1e-320, 0.123456789}, {2}) == "[9.99988867e-321 1.23456789e-001]");
  CHECK(printed<float>({-2572352}, {1}) == "[-2.572352e+06]");
  CHECK(printed<double>({-2572352}, {1}) == "[-2572352.]");
  CHECK(printed<float>({-0.f, 1e-4f}, {2}) == "[-0.      0.0001]");
  CHECK(printed<double>({0, 0}, {2}) == "[0. 0.]");
  CHECK(printed<bool>({true, false}, {2}) == "[ True False]");
  CHECK(printed<int64_t>({-1, 100, 7, -12}, {2, 2}) == "[[ -1 100]\n [  7 -12]]");
  CHECK(printed<double>({1.5}, {}) == "1.5");
  CHECK(printed<double>({1e-7}, {}) == "1e-07");
  CHECK(printed<float>({2}, {}) == "2.0");
  CHECK(printed<float>({123456}, {}) == "123456.0");
  CHECK(printed<float>({297368992}, {}) == "2.97369e+08");
  CHECK(printed<float>({1e-4f}, {}) == "1e-04");
  CHECK(printed<int32_t>({3}, {}) == "3");
  CHECK(printed<bool>({true}, {}) == "True");
  CHECK(printed<double>({}, {0, 3}) == "[]");
  std::vector<int32_t> ints(1200);
  for (int32_t i = 0; i < 1200; ++i) ints[static_cast<size_t>(i)] = i;
  CHECK(printed<int32_t>(ints, {40, 30}) ==
        "[[   0    1    2 ...   27   28   29]\n [  30   31   32 ...   57   58   59]\n"
        " [  60   61   62 ...   87   88   89]\n ...\n [1110 1111 1112 ... 1137 1138 1139]\n"
        " [1140 1141 1142 ... 1167 1168 1169]\n [1170 1171 1172 ... 1197 1198 1199]]");
  std::vector<float> sevenths;
  for (int i = 0; i < 2000; ++i) sevenths.push_back(static_cast<float>(i) / 7);
  CHECK(printed<float>(sevenths, {2000}) ==
        "[0.0000000e+00 1.4285715e-01 2.8571430e-01 ... 2.8528571e+02 2.8542856e+02\n"
        " 2.8557144e+02]");
  Doubles halves;
  for (int i = 0; i < 30; ++i) halves.push_back(i * 1.5);
  CHECK(printed<double>(halves, {30}) ==
        "[ 0.   1.5  3.   4.5  6.   7.5  9.  10.5 12.  13.5 15.  16.5 18.  19.5\n"
        " 21.  22.5 24.  25.5 27.  28.5 30.  31.5 33.  34.5 36.  37.5 39.  40.5\n"
        " 42.  43.5]");
  Doubles quarters;
  for (int i = 0; i < 16; ++i) quarters.push_back(i - 7.25);
  CHECK(printed<double>(quarters, {2, 2, 2, 2}) ==
        "[[[[-7.25 -6.25]\n   [-5.25 -4.25]]\n\n  [[-3.25 -2.25]\n   [-1.25 -0.25]]]\n\n\n"
        " [[[ 0.75  1.75]\n   [ 2.75  3.75]]\n\n  [[ 4.75  5.75]\n   [ 6.75  7.75]]]]");
}

TEST_CASE("docs: library.md has the row of each line of core/elementwise_list.h") {
  std::ifstream in(std::string(NINE_SOURCE_DIR) + "/docs/library.md");
  std::stringstream page;
  page << in.rdbuf();
  const auto row = [&](const std::string& call, const std::string& text) {
    const std::string wanted = "| `" + call + "` | " + text + " |\n";
    CHECK_MESSAGE(page.str().find(wanted) != std::string::npos, wanted);
  };
#define NINE_ROW(NAME, VALUE, DERIVATIVE, TEXT, ...) row(#NAME "(x)", TEXT);
#define NINE_ROW_1(NAME, P, P_DEFAULT, VALUE, DERIVATIVE, TEXT, ...) \
  row(*#P_DEFAULT != 0 ? #NAME "(x, " #P " " #P_DEFAULT ")" : #NAME "(x, " #P ")", TEXT);
#define NINE_ROW_2(NAME, P, P_DEFAULT, Q, Q_DEFAULT, VALUE, DERIVATIVE, TEXT, ...) \
  row(#NAME "(x, " #P ", " #Q ")", TEXT);
  NINE_FOR_EACH_UNARY(NINE_ROW, NINE_ROW_1, NINE_ROW_2)
#undef NINE_ROW
#undef NINE_ROW_1
#undef NINE_ROW_2
#define NINE_ROW(NAME, VALUE, SLOPE_A, SLOPE_B, TEXT, ...) row(#NAME "(a, b)", TEXT);
  NINE_FOR_EACH_BINARY(NINE_ROW)
#undef NINE_ROW
#define NINE_ROW(NAME, VALUE, TEXT) row(#NAME "(a, b)", TEXT);
  NINE_FOR_EACH_COMPARISON(NINE_ROW)
#undef NINE_ROW
#define NINE_ROW(NAME, SHIFT, TERM, JOIN, VALUE, DERIVATIVE, TEXT) \
  row(#NAME "(x, dims, keepdim = false)", TEXT);
#define NINE_ROW_1(NAME, P, P_DEFAULT, SHIFT, TERM, JOIN, VALUE, DERIVATIVE, TEXT) \
  row(#NAME "(x, dims, keepdim = false, " #P " " #P_DEFAULT ")", TEXT);
  NINE_FOR_EACH_REDUCTION(NINE_ROW, NINE_ROW_1)
#undef NINE_ROW
#undef NINE_ROW_1
}

}  // namespace nine::tests::test_arrays
