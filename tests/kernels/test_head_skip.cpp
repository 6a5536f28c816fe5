// --head-skip: the products for dW and dH leave out tiles of small gradients. The oracle computes
// the gradients of inner products in double, tile by tile, and adds up what is left out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/bf16_product.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "core/threads.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/ops.h"
#include "kernels/settings/head_config.h"
#include "tests/kernels/head_problem.h"
#include "tests/support/bf16_mode.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_skip {

using namespace nine::checks;

namespace {

// What a loss gives, and the sums of what it leaves out.
struct Result {
  double loss = 0;
  std::vector<Doubles> gradients;  // by inputs
  Doubles left_out;

  bool operator==(const Result&) const = default;
};

Result result_of(const HeadProblem& p, DType dtype, double skip) {
  Arena pool("head");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(dtype)) x.push_back(tape.leaf(t));
  HeadLoss options = p.options;
  options.skip = skip;
  SoftmaxRows own{.left_out = Tensor({4}, DType::float64)};
  if (!p.factors.empty()) own.factor = Tensor::from(p.factors, {p.rows});
  const SoftmaxLoss out = kernel_softmax(p.head, x[0], p.weights(x), tensor_of(p.targets, {p.rows}),
                                         p.row_weight, options, own);
  Result r{.loss = out.loss.value().item(), .left_out = own.left_out.to_vector()};
  tape.backward(out.loss);
  for (const Var& v : x) r.gradients.push_back(v.grad().to_vector());
  return r;
}

// A head of words in order of frequency: the biases fall, so that the last words' tiles are small.
HeadProblem frequent_first(const HeadSpec& head, int64_t rows, int64_t words, int64_t size) {
  HeadProblem p = head_problem(head, rows, words, size);
  for (int64_t v = 0; v < words; ++v)
    p.bias[static_cast<size_t>(v)] = -14.0 * static_cast<double>(v) / static_cast<double>(words);
  for (size_t r = 0; r < p.targets.size(); ++r) {
    int32_t& target = p.targets[r];
    if (target > 0 && r % 8 != 0) target = target % 7 + 1;  // of most rows, a frequent word
    p.factors.push_back(0.5 + 0.25 * static_cast<double>(r % 3));
  }
  return p;
}

// The gradients dW and dH of a head of inner products without contexts of the components' own. A
// tile is 64 words by 32 rows of a block; blocks begin at multiples of `block` rows.
struct Oracle {
  Doubles dh, dw, left_out;
  double nearest = 1;  // to the limit: the least |largest / limit - 1| of a tile
};
Oracle oracle_of(const HeadProblem& p, double limit, int64_t block) {
  const auto at = [](const Doubles& x, int64_t i) { return x[static_cast<size_t>(i)]; };
  const auto dot = [&](const Doubles& x, int64_t i, const Doubles& y, int64_t j) {
    double sum = 0;
    for (int64_t m = 0; m < p.size; ++m) sum += at(x, i * p.size + m) * at(y, j * p.size + m);
    return sum;
  };
  const int64_t K = p.head.size();
  Oracle out{Doubles(p.h.size()), Doubles(p.w.size()), Doubles(4)};
  Doubles g(static_cast<size_t>(p.rows * K * p.words));  // dL/dz of a row's own loss
  for (int64_t r = 0; r < p.rows; ++r) {
    const int64_t target = p.targets[static_cast<size_t>(r)];
    Doubles joint, sums;
    for (int64_t k = 0; k < K; ++k) {
      double sum = 0;
      for (int64_t v = 0; v < p.words; ++v) {
        const int64_t row = (p.head.untied ? k * p.words : 0) + v;
        sum += g[static_cast<size_t>((r * K + k) * p.words + v)] =
            std::exp(dot(p.w, row, p.h, r) + at(p.bias, v));
      }
      const double prior = K > 1 ? std::exp(dot(p.prior, k, p.h, r)) : 1;
      sums.push_back(sum);
      joint.push_back(target < 0 ? 0 : prior * at(g, (r * K + k) * p.words + target) / sum);
    }
    double all = 0;
    for (const double j : joint) all += j;
    for (int64_t k = 0; k < K; ++k) {
      const double share = target < 0 ? 0 : at(joint, k) / all;
      for (int64_t v = 0; v < p.words; ++v) {
        double& x = g[static_cast<size_t>((r * K + k) * p.words + v)];
        x = share * (x / at(sums, k) - (v == target ? 1 : 0));
      }
    }
  }
  for (int64_t first = 0; first < p.rows; first += block)
    for (int64_t r0 = first; r0 < std::min(p.rows, first + block); r0 += 32)
      for (int64_t k = 0; k < K; ++k)
        for (int64_t v0 = 0; v0 < p.words; v0 += 64) {
          const int64_t r1 = std::min({p.rows, first + block, r0 + 32}),
                        v1 = std::min(p.words, v0 + 64);
          double largest = 0, sum = 0;
          for (int64_t r = r0; r < r1; ++r)
            for (int64_t v = v0; v < v1; ++v) {
              const double x = std::abs(at(g, (r * K + k) * p.words + v));
              largest = std::max(largest, x);
              sum += x * p.row_weight * at(p.factors, r);
            }
          const bool kept = largest >= limit;
          if (limit > 0) out.nearest = std::min(out.nearest, std::abs(largest / limit - 1));
          out.left_out[0] += kept ? 0 : 1;
          out.left_out[1] += 1;
          out.left_out[2] += kept ? 0 : sum;
          out.left_out[3] += sum;
          for (int64_t r = r0; kept && r < r1; ++r)
            for (int64_t v = v0; v < v1; ++v) {
              const double x = at(g, (r * K + k) * p.words + v) * p.row_weight * at(p.factors, r);
              const int64_t row = (p.head.untied ? k * p.words : 0) + v;
              for (int64_t m = 0; m < p.size; ++m) {
                out.dh[static_cast<size_t>(r * p.size + m)] += x * at(p.w, row * p.size + m);
                out.dw[static_cast<size_t>(row * p.size + m)] += x * at(p.h, r * p.size + m);
              }
            }
        }
  return out;
}

void check_against_oracle(const HeadProblem& p, DType dtype, double tolerance) {
  constexpr double kLimit = 1e-4;
  const int64_t block = head_block_rows(p.head, p.words, p.size, dtype);
  const Oracle oracle = oracle_of(p, kLimit, block);
  REQUIRE(oracle.nearest > tolerance);
  REQUIRE(oracle.left_out[0] > 0.2 * oracle.left_out[1]);
  REQUIRE(oracle.left_out[0] < 0.9 * oracle.left_out[1]);
  const Result got = result_of(p, dtype, kLimit), plain = result_of(p, dtype, 0);
  CHECK(got.left_out[0] == oracle.left_out[0]);
  CHECK(got.left_out[1] == oracle.left_out[1]);
  CHECK(std::abs(got.left_out[2] / oracle.left_out[2] - 1) < tolerance);
  CHECK(std::abs(got.left_out[3] / oracle.left_out[3] - 1) < tolerance);
  CHECK(relative_error(got.gradients[1], oracle.dw) < tolerance);
  if (!p.head.mixture) CHECK(relative_error(got.gradients[0], oracle.dh) < tolerance);
  CHECK(got.loss == plain.loss);
  CHECK(got.gradients[2] == plain.gradients[2]);  // of the bias
  for (size_t i = 3; i < got.gradients.size(); ++i) CHECK(got.gradients[i] == plain.gradients[i]);
}

}  // namespace

TEST_CASE("head skip: products take the tiles that reach the limit, and the log adds up the rest") {
  HeadSpec untied = parse_head("mix:2*lin", {.untied = true});
  untied.contexts = false;
  HeadSpec shared = parse_head("mix:3*lin", {});
  shared.contexts = false;
  const HeadProblem problems[] = {frequent_first(parse_head("lin"), 300, 517, 40),
                                  frequent_first(parse_head("lin"), 5, 517, 40),
                                  frequent_first(untied, 70, 517, 40),
                                  frequent_first(shared, 300, 517, 40)};
  for (const HeadProblem& p : problems) {
    CAPTURE(p.head.to_text());
    CAPTURE(p.rows);
    check_against_oracle(p, DType::float64, 1e-11);
    check_against_oracle(p, DType::float32, 1e-4);
  }
}

TEST_CASE("head skip: bfloat16 products take the same tiles") {
  HeadSpec shared = parse_head("mix:2*lin", {});
  shared.contexts = false;
  for (const HeadProblem& p :
       {frequent_first(parse_head("lin"), 300, 1037, 72), frequent_first(shared, 300, 1037, 72)}) {
    CAPTURE(p.head.to_text());
    const Bf16Mode mode(MatmulPrecision::highest);
    check_against_oracle(p, DType::float32, 1e-4);
  }
}

TEST_CASE("head skip: all code for products of bfloat16 pairs and tiles has the emulations' bits") {
  const HeadProblem p = frequent_first(parse_head("lin"), 100, 1037, 72);
  const auto with = [&](const bf16::Loops* loops) {
    const Bf16Mode mode(MatmulPrecision::medium);
    bf16::use_loops(loops);
    return result_of(p, DType::float32, 1e-4);
  };
  const Result pairs = with(&bf16::emulation_of_pairs()), tiles = with(&bf16::emulation());
  CHECK(pairs.left_out[0] > 0);
  CHECK(pairs.gradients != tiles.gradients);
  if (const bf16::Loops* by_fma = bf16::pairs_by_fma()) CHECK(with(by_fma) == pairs);
  const InstructionSet set = instruction_set();
  if (set == InstructionSet::avx512_bf16) CHECK(with(nullptr) == pairs);
  if (set == InstructionSet::amx) CHECK(with(nullptr) == tiles);
}

TEST_CASE("head skip: bfloat16 products of numbers that are too large for pieces") {
  HeadProblem p = frequent_first(parse_head("lin"), 40, 517, 64);
  p.w[static_cast<size_t>(70 * p.size + 3)] = std::numeric_limits<float>::max();
  for (int64_t r = 0; r < p.rows; ++r) p.h[static_cast<size_t>(r * p.size + 3)] = 0;
  const Bf16Mode mode(MatmulPrecision::highest);
  check_against_oracle(p, DType::float32, 1e-4);
}

TEST_CASE("head skip: a limit below every gradient changes no bit, a large one leaves out all") {
  for (const std::string head :
       {"lin", "log:p=2", "rbf", "hpb", "ssg", "mog:variance=split", "mix:lin,rbf", "mix:2*lin"}) {
    CAPTURE(head);
    HeadProblem p = head_problem(parse_head(head), 300, 200, 40);
    p.options.smoothing.epsilon = 0.1;
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Result plain = result_of(p, dtype, 0), none = result_of(p, dtype, 1e-300);
      CHECK(none.loss == plain.loss);
      CHECK(none.gradients == plain.gradients);
      CHECK(plain.left_out == Doubles(4));
      CHECK(none.left_out[2] == 0);
      CHECK(none.left_out[1] > 0);
      const Result all = result_of(p, dtype, 1e9);
      CHECK(all.left_out[0] == all.left_out[1]);
      CHECK(all.left_out[2] == all.left_out[3]);
      CHECK(all.loss == plain.loss);
      CHECK(all.gradients[2] == plain.gradients[2]);
      if (head != "lin") continue;
      CHECK(all.gradients[0] == Doubles(p.h.size()));
      CHECK(all.gradients[1] == Doubles(p.w.size()));
    }
  }
}

TEST_CASE("head skip: the same bits at any number of threads, and with either memory") {
  struct Restore {
    int before = threads();
    ~Restore() { set_threads(before); }
  } const restore;
  for (const std::string head : {"lin", "log:p=2", "mog:variance=split", "mix:lin,rbf"}) {
    CAPTURE(head);
    HeadProblem p = frequent_first(parse_head(head), 300, 1037, 40);
    for (const bool pieces : {false, true}) {
      const Bf16Mode mode(pieces ? MatmulPrecision::medium : MatmulPrecision::highest);
      set_threads(1);
      const Result one = result_of(p, DType::float32, 1e-4);
      CHECK(one.left_out[0] > 0);
      CHECK(one.left_out[0] < one.left_out[1]);
      set_threads(3);
      CHECK(result_of(p, DType::float32, 1e-4) == one);
      p.options.memory = HeadMemory::tiles;
      CHECK(result_of(p, DType::float32, 1e-4) == one);
      p.options.memory = HeadMemory::blocks;
    }
  }
}

TEST_CASE("head skip: a gradient that is not finite is never left out") {
  HeadProblem p = frequent_first(parse_head("lin"), 40, 517, 40);
  p.h[0] = std::numeric_limits<double>::quiet_NaN();
  const Result got = result_of(p, DType::float64, 1e9);
  CHECK(std::isnan(got.gradients[1][0]));
}

TEST_CASE("head skip: a limit that is negative or no number is refused") {
  HeadProblem p = head_problem(parse_head("lin"), 5, 9, 4);
  for (const double skip :
       {-1e-4, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_WITH_AS(result_of(p, DType::float64, skip),
                         doctest::Contains("must be a finite number from 0 on, not "), Error);
  HeadSettings settings;
  const auto all = head_settings();
  const auto setting = std::find_if(all.begin(), all.end(), [](const HeadSetting& s) {
    return std::string(s.name) == "head_skip";
  });
  REQUIRE(setting != all.end());
  for (const std::string text : {"-1e-4", "nan", "x"})
    CHECK_THROWS_WITH_AS(setting->set(settings, text), doctest::Contains("must be a number from 0"),
                         Error);
  setting->set(settings, "0.000244");
  CHECK(settings.head_config().loss.skip == 0.000244);
  CHECK(HeadLoss{}.skip == 0);
}

}  // namespace nine::tests::test_head_skip
