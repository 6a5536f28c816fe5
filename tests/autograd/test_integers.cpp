// Integers and bools in the functions of autograd/functions.h and autograd/arrays.h: values and
// types are NumPy 2.4.6's (int32 and int64 on Linux), and exact where a double would not be.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "autograd/arrays.h"
#include "tests/support/support.h"

namespace nine::tests::test_integers {

namespace {

constexpr int64_t kTop = INT64_MAX, kBottom = INT64_MIN, kOdd = (int64_t{1} << 53) + 1;

struct Step {
  Arena arena{"test_integers", kCpu, size_t{4} << 20};
  Tape tape{arena};

  template <class T>
  Var of(const std::vector<T>& values, const Shape& shape) {
    return tape.constant(Tensor::from<T>(values, shape));
  }
  Var ints(const std::vector<int32_t>& values, const Shape& shape) { return of(values, shape); }
  Var longs(const std::vector<int64_t>& values, const Shape& shape) { return of(values, shape); }
  Var bools(const std::vector<bool>& values, const Shape& shape) { return of(values, shape); }
  Var doubles(const std::vector<double>& values, const Shape& shape) { return of(values, shape); }
};

template <class T>
void check(const Var& y, const Shape& shape, const std::vector<T>& values) {
  CHECK(to_text(y.shape()) == to_text(shape));
  REQUIRE(to_text(y.dtype()) == to_text(dtype_of<T>));
  REQUIRE(y.value().elements() == std::ssize(values));
  const Tensor packed = y.value().clone();
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(packed.data<T>()[i] == values[i]);
  }
}

template <class F>
void says(F&& f, const std::string& text) {
  const std::string message = error_of(f);
  CHECK_MESSAGE(message.find(text) != std::string::npos, message);
}

}  // namespace

TEST_CASE("integers: arithmetic wraps around as NumPy's") {
  Step step;
  const Var a = step.ints({2147483647, INT32_MIN, 7, -3}, {4}),
            b = step.ints({1, -1, 65536, 100000}, {4});
  check<int32_t>(a + b, {4}, {INT32_MIN, 2147483647, 65543, 99997});
  check<int32_t>(a - b, {4}, {2147483646, -2147483647, -65529, -100003});
  check<int32_t>(a * b * b, {4}, {2147483647, INT32_MIN, 0, 64771072});
  check<int32_t>(maximum(a, b), {4}, {2147483647, -1, 65536, 100000});
  check<int32_t>(minimum(a, b), {4}, {1, INT32_MIN, 7, -3});
  check<int32_t>(-a, {4}, {-2147483647, INT32_MIN, -7, 3});
  check<int32_t>(abs(a), {4}, {2147483647, INT32_MIN, 7, 3});
  check<int32_t>(clamp(a, -3, 100), {4}, {100, -3, 7, -3});
  check<int32_t>(clamp(a, 0, INFINITY), {4}, {2147483647, 0, 7, 0});
  check<int32_t>(clamp(a, -INFINITY, 0), {4}, {0, INT32_MIN, 0, -3});
  check<int32_t>(sign(a), {4}, {1, -1, 1, -1});
  check<int32_t>(square(a), {4}, {1, 0, 49, 9});
  check<int32_t>(relu(a), {4}, {2147483647, 0, 7, 0});
  const Var c = step.longs({kTop, kBottom, 3037000500, -5}, {4}),
            d = step.longs({1, 1, 3037000500, 9}, {4});
  check<int64_t>(c + d, {4}, {kBottom, kBottom + 1, 6074001000, 4});
  check<int64_t>(c - d, {4}, {kTop - 1, kTop, 0, -14});
  check<int64_t>(c * d, {4}, {kTop, kBottom, -9223372036709301616, -45});
  check<int64_t>(-c, {4}, {-kTop, kBottom, -3037000500, 5});
  check<int64_t>(abs(c), {4}, {kTop, kBottom, 3037000500, 5});
  check<int64_t>(reshape(d, {4, 1}) * step.longs({1, 10}, {2}), {4, 2},
                 {1, 10, 1, 10, 3037000500, 30370005000, 9, 90});
  check<int64_t>(step.longs({}, {0}) + 1, {0}, {});
}

TEST_CASE("integers: a number has the tensor's type, exactly") {
  Step step;
  const Var ids = step.longs({kOdd, kOdd - 1, kTop}, {3});
  check<bool>(equal(ids, kOdd), {3}, {true, false, false});
  check<bool>(equal(kTop, ids), {3}, {false, false, true});
  check<bool>(greater(ids, kOdd - 1), {3}, {true, false, true});
  check<bool>(less(kOdd - 1, ids), {3}, {true, false, true});
  check<int64_t>(ids - kOdd, {3}, {0, -1, kTop - kOdd});
  check<int64_t>(kTop - ids, {3}, {kTop - kOdd, kTop - kOdd + 1, 0});
  check<int64_t>(2 * step.longs({3}, {1}) + 1, {1}, {7});
  check<int64_t>(scale(step.longs({3}, {1}), -2), {1}, {-6});
  check<int64_t>(maximum(0, step.longs({-3, 3}, {2})), {2}, {0, 3});
  check<int32_t>(minimum(step.ints({-3, 3}, {2}), 2.0), {2}, {-3, 2});
  check<int32_t>(where(step.bools({true, false}, {2}), step.ints({4, 5}, {2}), -1), {2}, {4, -1});
  check<bool>(equal(step.bools({true, false}, {2}), 0), {2}, {false, true});
  says([&] { equal(ids, 2.5); }, "[equal] the number 2.5 has no place in a tensor of int64");
  says([&] { ids + 0.5; }, "[add] the number 0.5 has no place in a tensor of int64: cast()");
  says([&] { ids * 1e30; }, "[mul] the number 1e+30 has no place");
  says([&] { equal(ids, std::nan("")); }, "has no place");
  says([&] { step.ints({1}, {1}) + (int64_t{1} << 31); }, "2147483648 has no place in a tensor of");
  says([&] { clamp(ids, 0.5, 2); }, "[clamp] the number 0.5");
  says([&] { equal(step.bools({true}, {1}), 2); },
       "[equal] the number 2 has no place in a tensor of bool");
  says([&] { equal(ids, UINT64_MAX); }, "has no place");
}

TEST_CASE("integers: numbers on both sides of functions of floats") {
  Step step;
  const Var x = step.doubles({-1, 0, 2}, {3});
  check<double>(maximum(x, 0), {3}, {0, 0, 2});
  check<double>(minimum(0.5, x), {3}, {-1, 0, 0.5});
  check<double>(pow(2.0, x), {3}, {0.5, 1, 4});
  check<double>(pow(2, x), {3}, {0.5, 1, 4});
  check<double>(where(greater(x, 0), x, -HUGE_VAL), {3}, {-HUGE_VAL, -HUGE_VAL, 2});
  check<double>(where(greater(x, 0), 7, x), {3}, {-1, 0, 7});
  check<bool>(less(0.0, x), {3}, {false, false, true});
  const Var leaf = step.tape.leaf(Tensor::from<double>({-1, 0, 2}, {3}));
  step.tape.backward(sum(where(greater(leaf, 0), leaf * 3, 0) + maximum(leaf, 1) + pow(2, leaf)));
  const std::vector<double> gradient = leaf.grad().to_vector();
  const double ln2 = std::log(2.0);
  const std::vector<double> right = {0.5 * ln2, ln2, 3 + 1 + 4 * ln2};
  for (size_t i = 0; i < 3; ++i) CHECK(gradient[i] == doctest::Approx(right[i]).epsilon(1e-14));
}

TEST_CASE("integers: reductions have NumPy's types, and are exact") {
  Step step;
  const Var c = step.ints({3, -1, 2, 2147483647, 2147483647, 5}, {2, 3});
  check<int64_t>(sum(c, 1), {2}, {4, 4294967299});
  check<int64_t>(sum(c), {}, {4294967303});
  check<int64_t>(sum(c, 0, true), {1, 3}, {2147483650, 2147483646, 7});
  check<int32_t>(max(c, 0), {3}, {2147483647, 2147483647, 5});
  check<int32_t>(min(c), {}, {-1});
  check<double>(mean(c, 1), {2}, {4 / 3.0, 4294967299 / 3.0});
  check<double>(mean(c), {}, {4294967303 / 6.0});
  check<int64_t>(argmax(c, 1), {2}, {0, 0});
  check<int64_t>(argmin(c, 0), {3}, {0, 0, 0});
  check<int64_t>(argmin(c, -1, true), {2, 1}, {1, 2});
  const Var d = step.longs({kOdd, kOdd - 1, kOdd + 1, kBottom, kTop}, {5});
  check<int64_t>(sum(d), {}, {27021597764222978});
  check<int64_t>(max(d), {}, {kTop});
  check<int64_t>(min(d), {}, {kBottom});
  check<int64_t>(argmax(d, 0), {}, {4});
  check<int64_t>(argmax(slice(d, 0, 0, 4), 0), {}, {2});
  check<int64_t>(sum(step.longs({kTop, 1}, {2})), {}, {kBottom});
  check<int64_t>(sum(step.longs({}, {0, 2}), 0), {2}, {0, 0});
  const Var flags = step.bools({true, false, true, true}, {2, 2});
  check<int64_t>(sum(flags), {}, {3});
  check<double>(mean(flags, 0), {2}, {1, 0.5});
  check<bool>(max(flags, 0), {2}, {true, true});
  check<bool>(min(flags, 0), {2}, {true, false});
  check<int64_t>(argmin(flags, 1), {2}, {1, 0});
  // Dimensions that do not lie side by side, and lines that several tasks share.
  std::vector<int64_t> many(3 * 200 * 100);
  uint64_t first = 0, all = 0;  // they wrap around
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<int64_t>(i * i) + kOdd;
    all += static_cast<uint64_t>(many[i]);
    if (i / 100 % 200 == 0) first += static_cast<uint64_t>(many[i]);
  }
  const Var sums = sum(step.longs(many, {3, 200, 100}), {0, 2});
  CHECK(sums.value().data<int64_t>()[0] == static_cast<int64_t>(first));
  CHECK(sum(sums).value().data<int64_t>()[0] == static_cast<int64_t>(all));
}

TEST_CASE("integers: cumulative sums, order and scatter_add") {
  Step step;
  const Var c = step.ints({3, -1, 2, 2147483647, 2147483647, 5}, {2, 3});
  check<int64_t>(cumsum(c, 1), {2, 3}, {3, 2, 4, 2147483647, 4294967294, 4294967299});
  check<int64_t>(cumsum(c, 0), {2, 3}, {3, -1, 2, 2147483650, 2147483646, 7});
  const Var d = step.longs({kOdd, kOdd - 1, kOdd + 1, kBottom, kTop}, {5});
  check<int64_t>(
      cumsum(d, 0), {5},
      {kOdd, 18014398509481985, 27021597764222979, -9196350439090552829, 27021597764222978});
  check<int64_t>(cumsum(step.bools({true, true, false}, {3}), 0), {3}, {1, 2, 2});
  check<int64_t>(sort(d).ids, {5}, {3, 1, 0, 2, 4});
  check<int64_t>(sort(d).values, {5}, {kBottom, kOdd - 1, kOdd, kOdd + 1, kTop});
  check<int64_t>(topk(d, 2).values, {2}, {kTop, kOdd + 1});
  check<int32_t>(sort(c).values, {2, 3}, {-1, 2, 3, 5, 2147483647, 2147483647});
  check<int64_t>(sort(c).ids, {2, 3}, {1, 2, 0, 2, 0, 1});
  check<bool>(sort(step.bools({true, false, true}, {3}), 0, true).values, {3}, {true, true, false});
  // numpy.bincount, and sums that wrap around.
  const Var owners = step.longs({0, 2, 2, 0, 2}, {5});
  check<int64_t>(
      scatter_add(step.longs({0, 0, 0}, {3}), 0, owners, step.longs({1, 1, 1, 1, 1}, {5})), {3},
      {2, 0, 3});
  check<int32_t>(scatter_add(step.ints({1, INT32_MAX}, {2}), 0, step.longs({-1, 0, -1}, {3}),
                             step.ints({1, 5, 1}, {3})),
                 {2}, {6, INT32_MIN + 1});
}

TEST_CASE("integers: logic of bools") {
  Step step;
  const Var a = step.bools({true, true, false, false}, {4}),
            b = step.bools({true, false, true, false}, {4});
  check<bool>(a & b, {4}, {true, false, false, false});
  check<bool>(a | b, {4}, {true, true, true, false});
  check<bool>(~a, {4}, {false, false, true, true});
  check<bool>(logical_and(reshape(a, {2, 2}), step.bools({true, false}, {2})), {2, 2},
              {true, false, false, false});
  check<bool>(any(a), {}, {true});
  check<bool>(all(a), {}, {false});
  const Var table = step.bools({true, true, false, true, false, false}, {3, 2});
  check<bool>(any(table, 1), {3}, {true, true, false});
  check<bool>(all(table, 1, true), {3, 1}, {true, false, false});
  check<bool>(all(table, {0, 1}), {}, {false});
  check<bool>(any(step.bools({}, {0})), {}, {false});
  check<bool>(all(step.bools({}, {0})), {}, {true});
  const Var x = step.doubles({0.5, 3}, {2});
  check<double>(where(~greater(x, 1), x, 0), {2}, {0.5, 0});
  says([&] { logical_and(a, x); },
       "[logical_and] needs bool, got float64: make it by a comparison");
  says([&] { step.ints({1}, {1}) & step.ints({1}, {1}); }, "[logical_and] needs bool, got int32");
  says([&] { any(x); }, "[any] needs bool, got float64");
  says([&] { a | step.bools({true, false, true}, {3}); }, "[logical_or] shapes (4) and (3)");
  // An empty Var can be asked for, but not by what would look like logic of elements.
  CHECK(static_cast<bool>(a));
  CHECK_FALSE(static_cast<bool>(Var()));
  constexpr auto negated = [](const auto& v) {
    return requires { !v; };
  };
  constexpr auto joined = [](const auto& v) {
    return requires { v&& v; }
    || requires { v || v; };
  };
  CHECK_FALSE(negated(a));
  CHECK_FALSE(joined(a));
}

TEST_CASE("arrays: reshape finds a size, and select, unsqueeze, squeeze and detach") {
  Step step;
  const Var x = step.ints({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 2});
  CHECK(reshape(x, {-1, 4}).shape() == Shape{3, 4});
  CHECK(reshape(x, {-1}).shape() == Shape{12});
  CHECK(reshape(x, {2, -1, 2}).shape() == Shape{2, 3, 2});
  CHECK(reshape(step.ints({5}, {1}), {}).shape() == Shape{});
  CHECK(reshape(step.ints({}, {0, 3}), {-1, 3}).shape() == Shape{0, 3});
  check<int32_t>(select(x, 1, 2), {2, 2}, {4, 5, 10, 11});
  check<int32_t>(select(x, -1, -1), {2, 3}, {1, 3, 5, 7, 9, 11});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 3, 2});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 3, 2, 1});
  CHECK(squeeze(unsqueeze(x, 2), 2).shape() == x.shape());
  says(
      [&] {
        reshape(x, {-1, 5});
      },
      "[reshape] the 12 elements of x of shape (2, 3, 2) do not divide into (-1, 5)");
  says([&] { reshape(x, {-1, -1}); }, "[reshape] two sizes of (-1, -1) are -1");
  says([&] { reshape(x, {-1, 0}); }, "do not divide into (-1, 0)");
  says([&] { reshape(x, {5}); }, "[reshape] x of shape (2, 3, 2) has 12 elements, but (5) has 5");
  says([&] { select(x, 1, 3); }, "[select] index 3 is outside of [-3, 3) in dimension 1");
  says([&] { squeeze(x, 1); }, "[squeeze] dimension 1 of x of shape (2, 3, 2) has not size 1");
  says([&] { unsqueeze(x, 4); }, "[unsqueeze] a result of 4 dimensions has no dimension 4");
  // A detached factor is a constant: d(x c)/dx = c. Columns of a wider matrix can be selected from.
  const Var wide = step.tape.leaf(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Var part = unsqueeze(col_range(wide, 1, 2), 0);
  const Var y = sum(select(part, 1, 1) * detach(select(part, 1, 1)));
  CHECK(y.value().item() == 61);
  CHECK_FALSE(detach(y).needs_grad());
  step.tape.backward(y);
  CHECK(wide.grad().to_vector() == std::vector<double>{0, 0, 0, 0, 5, 6});
}

TEST_CASE("arrays: an error names the function that was called, and says what to do") {
  Step step;
  const Var x = step.doubles({1, 2, 3, 4, 5, 6}, {2, 3}), i = step.longs({1, 2, 3}, {3}),
            half = step.tape.constant(Tensor({2, 3}, DType::bfloat16)), mask = greater(x, 2),
            single = cast(x, DType::float32);
  says([&] { x + i; }, "[add] mixes float64 and int64: cast() one");
  says([&] { x* mask; }, "[mul] mixes float64 and bool: cast() one");
  says([&] { mask + mask; }, "[add] needs float32, float64, int32 or int64, got bool: cast() it");
  says([&] { -mask; }, "[neg] needs float32 or float64, got bool");
  says([&] { i / i; }, "[div] needs float32 or float64, got int64: cast() it");
  says([&] { i / 2; }, "[div] needs float32 or float64, got int64: cast() it");
  says([&] { pow(i, 2); }, "[pow] needs float32 or float64, got int64: cast() it");
  says([&] { exp(i); }, "[exp] needs float32 or float64, got int64: cast() it");
  says([&] { clamp(half, 0, 1); }, "[clamp] needs float32 or float64, got bfloat16");
  says([&] { maximum(half, half); }, "[maximum] needs");
  says([&] { mean(half); }, "[mean] needs float32 or float64, got bfloat16: cast() it");
  says([&] { norm(i, 0); }, "[norm] needs float32 or float64, got int64: cast() it");
  says([&] { softmax(i); }, "[softmax] needs");
  says([&] { softmax(i, 0); }, "[softmax] needs");
  says([&] { topk(half, 2); }, "[topk] needs");
  says([&] { argmax(half, 0); }, "[argmax] needs");
  says([&] { cumsum(half, 0); }, "[cumsum] needs");
  says([&] { equal(half, half); }, "[equal] does not take bfloat16");
  says([&] { where(mask, x, single); }, "[where] mixes float64 and float32: cast() one");
  says([&] { index_select(i, 0, step.longs({3}, {1})); }, "[index_select] index 3 at position 0");
  says([&] { gather(i, 0, step.longs({-4}, {1})); }, "[gather] index -4 at position 0");
  says([&] { scatter_add(i, 0, step.longs({7}, {1}), step.longs({1}, {1})); },
       "[scatter_add] index 7 at position 0");
  says([&] { scatter_add(x, 0, cast(x, DType::int64), single); },
       "[scatter_add] mixes float64 and float32");
  says([&] { einsum("ij,kj", {x, single}); }, "[einsum] mixes float64 and float32");
  says([&] { batched_matmul(x, transpose(single)); }, "[batched_matmul] mixes");
  says(
      [&] {
        linear(x, step.doubles({1, 2}, {1, 2}));
      },
      "[linear] an input of shape (2, 3) does not fit weights of shape (1, 2)");
  says(
      [&] {
        cross_entropy(x, Tensor::from<int64_t>({0, 7}, {2}));
      },
      "[cross_entropy] index 7 at position 1 is outside of [-1, 3)");
  says([&] { max(slice(x, 0, 0, 0), 0); },
       "[max] no numbers have no such number: x has shape (0, 3)");
  says([&] { argmin(slice(i, 0, 0, 0), 0); }, "[argmin] no numbers have no such number");
  const Var sequences = step.doubles(std::vector<double>(2 * 4 * 18), {2, 4, 18});
  says([&] { attention(sequences, {.batch = 2, .heads = 2}); },
       "[attention] qkv must be a matrix with a row for each step, not (2, 4, 18): reshape(x, {8, "
       "18})");
  says([&] { col_range(sequences, 0, 6); },
       "[col_range] x of shape (2, 4, 18) is not a matrix: slice()");
  says([&] { row_range(x, 1, 2); },
       "[row_range] [1, 1 + 2) is outside of [0, 2) in x of shape (2, 3)");
  says([&] { reshape(col_range(x, 0, 2), {4}); }, "gaps between its rows");
  says([&] { reshape(col_range(x, 0, 2), {4}); }, "slice()");
}

}  // namespace nine::tests::test_integers
