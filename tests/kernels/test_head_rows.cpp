// What a caller of kernel_softmax sets and asks for row by row (SoftmaxRows), and ends between two
// blocks. The values are compared in test_reference_head.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/least_memory.h"
#include "core/threads.h"
#include "kernels/loss/head_blocks.h"
#include "kernels/loss/kernel_softmax.h"
#include "tests/kernels/head_problem.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_rows {

using namespace nine::checks;

TEST_CASE("head: numbers of rows are the same in any block, and factors scale losses") {
  for (const std::string head : {"lin", "mix:2*lin,log"}) {
    CAPTURE(head);
    HeadProblem p = head_problem(parse_head(head), 300, 70, 6);  // more rows than a block
    p.options.z_loss = 0.1;
    const int64_t size = p.head.size();
    for (int64_t r = 0; r < p.rows; ++r) p.factors.push_back(0.01 * static_cast<double>(r) - 1);
    const auto of_rows = [&](int64_t first, int64_t count) {
      Arena pool("rows");
      Tape tape(pool);
      std::vector<Var> x;
      for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.constant(t));
      x[0] = tape.constant(x[0].value().row_range(first, count));
      const Ints targets(p.targets.begin() + first, p.targets.begin() + first + count);
      const Doubles factors(p.factors.begin() + first, p.factors.begin() + first + count);
      const Tensor loss({count}, DType::float64), lse({size, count}, DType::float64);
      const SoftmaxLoss out =
          kernel_softmax(p.head, x[0], p.weights(x), tensor_of(targets, {count}), 0.5, p.options,
                         {.factor = Tensor::from(factors, {count}), .loss = loss, .lse = lse});
      double sum = 0;
      const Doubles losses = loss.to_vector();
      for (size_t r = 0; r < losses.size(); ++r) sum += 0.5 * factors[r] * losses[r];
      CHECK(std::abs(sum - out.loss.value().item()) < 1e-12 * std::abs(sum));
      for (size_t r = 0; r < losses.size(); ++r) CHECK((losses[r] == 0) == (targets[r] < 0));
      return std::pair(losses, lse.to_vector());
    };
    const auto [losses, lse] = of_rows(0, p.rows);
    for (const int64_t first : {0, 97, 299}) {
      const auto [one, one_lse] = of_rows(first, 1);
      CHECK(one[0] == losses[static_cast<size_t>(first)]);
      for (int64_t k = 0; k < size; ++k)
        CHECK(one_lse[static_cast<size_t>(k)] == lse[static_cast<size_t>(k * p.rows + first)]);
    }
  }
}

TEST_CASE("head: numbers of rows that do not fit are refused") {
  HeadProblem p = head_problem(parse_head("mix:lin,rbf"), 5, 9, 4);
  p.factors = {1, 2, 3, 4, 5};
  p.options.prior.strength = 0.1;
  CHECK_THROWS_WITH_AS(run(p), doctest::Contains("factors of rows do not go with a penalty"),
                       Error);
  p.options.prior.strength = 0;
  Arena pool("rows");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.constant(t));
  const auto call = [&](const SoftmaxRows& rows) {
    kernel_softmax(p.head, x[0], p.weights(x), tensor_of(p.targets, {5}), 1, {}, rows);
  };
  CHECK_THROWS_WITH_AS(call({.factor = Tensor({4}, DType::float64)}),
                       doctest::Contains("must be 5 float64 numbers side by side"), Error);
  CHECK_THROWS_WITH_AS(call({.loss = Tensor({5}, DType::float32)}), doctest::Contains("of float32"),
                       Error);
  const Tensor wide({5, 2}, DType::float64);
  CHECK_THROWS_WITH_AS(call({.loss = wide.col_range(1, 1)}), doctest::Contains("with gaps"), Error);
  for (const Shape& shape : {Shape{1, 5}, Shape{2, 6}, Shape{2, 4}})
    CHECK_THROWS_WITH_AS(call({.lse = Tensor(shape, DType::float64)}),
                         doctest::Contains("lse of SoftmaxRows must be (2, 5)"), Error);
  HeadWeights one_offset = p.weights(x);
  one_offset.target_offset = Tensor({9}, DType::float64);
  CHECK_THROWS_WITH_AS(kernel_softmax(p.head, x[0], one_offset, tensor_of(p.targets, {5}), 1),
                       doctest::Contains("set both or neither"), Error);
}

TEST_CASE("head: with the least memory, gradients are the same to the last digits") {
  struct Restore {
    int before = threads();
    ~Restore() {
      set_threads(before);
      set_least_block_bytes(0);
    }
  } const restore;
  // 192 numbers of a word's gradient hold the products and scores of 192 rows (lin), 96 (log, ssg)
  // or 64 (mixtures). The other rows, those of 200 rows of log and ssg, and all of mog have none.
  for (const std::string head : {"lin", "log", "ssg", "mix:2*lin", "mix:lin,log", "mog"})
    for (const int64_t rows : {100, 200}) {
      CAPTURE(head);
      CAPTURE(rows);
      HeadProblem p = head_problem(parse_head(head), rows, 2000, 192);
      p.options.smoothing.epsilon = rows == 100 ? 0.1 : 0;
      p.options.z_loss = 0.05;
      for (const DType dtype : {DType::float64, DType::float32}) {
        const HeadResult usual = run(p, dtype);
        const LeastMemory least;
        set_least_block_bytes(237'500 * static_cast<int64_t>(size_of(dtype)));
        set_threads(1);
        int blocks = 0;
        const HeadResult one = [&] {
          const InterruptCheck count([&] { ++blocks; });
          return run(p, dtype);
        }();
        if ((head == "lin" && rows == 200) || (head == "log" && rows == 100)) CHECK(blocks == 2);
        set_threads(3);
        CHECK(same_bits(run(p, dtype), one));
        const double tolerance = dtype == DType::float64 ? 1e-12 : 2e-5;
        CHECK(std::abs(one.loss - usual.loss) < tolerance * std::abs(usual.loss));
        CHECK(one.nll == usual.nll);
        REQUIRE(one.gradients.size() == usual.gradients.size());
        for (size_t i = 0; i < one.gradients.size(); ++i)
          CHECK(relative_error(one.gradients[i], usual.gradients[i]) < tolerance);
        CHECK(one.peak < usual.peak);
      }
    }
}

TEST_CASE("head: with the least memory, no products are kept besides the words' gradient") {
  const auto bytes = [](int64_t rows) {
    return static_cast<int64_t>(
        run(head_problem(parse_head("lin"), rows, 20000, 64), DType::float32).peak);
  };
  constexpr int64_t kProductsOfRow = 20000 * 4;
  const int64_t usual = bytes(64);
  const LeastMemory least;
  CHECK(usual - bytes(64) > 64 * kProductsOfRow);
  CHECK(usual - bytes(400) > 32 * kProductsOfRow);
}

TEST_CASE("head: the caller ends a long loss between two blocks") {
  const HeadProblem p = head_problem(parse_head("lin"), 1000, 70, 6);
  int calls = 0;
  {
    const InterruptCheck check([&] {
      if (++calls == 3) fail("interrupted");
    });
    CHECK_THROWS_WITH_AS(run(p), "interrupted", Error);
    CHECK(calls == 3);
  }
  run(p);
  CHECK(calls == 3);
}

}  // namespace nine::tests::test_head_rows
