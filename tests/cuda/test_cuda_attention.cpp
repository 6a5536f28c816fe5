// Attention on tensor cores and without, against the CPU in float64. The limits come from what the
// factors of products lose: TF32 rounds to 11 bits, bfloat16 to 8.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/matmul_precision.h"
#include "core/ops.h"
#include "tests/cuda/device_cases.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

struct Case {
  int64_t size, batch, heads, queries, keys;
  bool causal = false;
  Ints lengths = {};
  double dropout = 0;
};

// Head sizes of the models' defaults and tests, one of no multiple of anything, one that takes
// several pieces; a step of decoding; sequences of several tiles whose last one is not full.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {64, 1, 2, 37, 37, true},
      {64, 2, 1, 70, 40, false, {40, 11}, 0.3},
      {32, 2, 1, 67, 67, true, {67, 30}, 0.2},
      {128, 1, 1, 35, 35, true, {}, 0.1},
      {128, 2, 1, 20, 50, false, {50, 0}},
      {17, 3, 2, 1, 33, false, {33, 1, 20}},
      {4, 2, 2, 24, 24, true},
      {150, 1, 1, 18, 36, false, {35}, 0.4},
  };
  return all;
}

struct Inputs {
  Doubles q, k, v, dy;
};
Inputs inputs_of(const Case& c) {
  const int64_t d = c.heads * c.size;
  const std::vector<Doubles> x = random_values({{{c.batch * c.queries, d}},
                                                {{c.batch * c.keys, d}},
                                                {{c.batch * c.keys, d}},
                                                {{c.batch * c.queries, d}}},
                                               11);
  return {x[0], x[1], x[2], x[3]};
}

/// y, dq, dk, dv.
std::vector<Doubles> attend(const Case& c, DType dtype, Device device) {
  const int64_t d = c.heads * c.size, n = c.batch * c.queries, m = c.batch * c.keys;
  const Inputs in = inputs_of(c);
  const auto there = [&](const Doubles& x, int64_t rows) {
    return to_device(tensor_of(x, {rows, d}, dtype), device, 3);
  };
  const Tensor q = there(in.q, n), k = there(in.k, m), v = there(in.v, m), dy = there(in.dy, n),
               y = there(in.q, n), dq = there(in.q, n), dk = there(in.k, m), dv = there(in.v, m),
               lse({c.batch * c.heads, c.queries}, dtype, device);
  Tensor lengths;
  ops::Attention io{.q = q,
                    .k = k,
                    .v = v,
                    .y = y,
                    .lse = lse,
                    .batch = c.batch,
                    .heads = c.heads,
                    .causal = c.causal,
                    .dropout = c.dropout,
                    .key = {.seed = 5, .op = 9}};
  if (!c.lengths.empty()) {
    lengths = to_device(tensor_of(c.lengths, {c.batch}), device);
    io.lengths = lengths;
  }
  ops::attention(io);
  // dk is added to what is there, dq and dv replace it.
  ops::attention_backward(io, {.dy = dy, .dq = {dq}, .dk = {dk, true}, .dv = {dv}});
  return {y.to_vector(), dq.to_vector(), dk.to_vector(), dv.to_vector()};
}

double largest(const Doubles& x) {
  double top = 0;
  for (const double value : x) top = std::max(top, std::abs(value));
  return top;
}
/// The largest sum of |a b| over a head's columns, of a query and a key of one element.
double largest_product(const Case& c, const Doubles& a, const Doubles& b) {
  const int64_t d = c.heads * c.size;
  double top = 0;
  for (int64_t e = 0; e < c.batch; ++e)
    for (int64_t t = 0; t < c.queries; ++t)
      for (int64_t s = 0; s < c.keys; ++s)
        for (int64_t h = 0; h < c.heads; ++h) {
          double sum = 0;
          for (int64_t i = h * c.size; i < (h + 1) * c.size; ++i)
            sum += std::abs(a[static_cast<size_t>((e * c.queries + t) * d + i)] *
                            b[static_cast<size_t>((e * c.keys + s) * d + i)]);
          top = std::max(top, sum);
        }
  return top;
}

/// Bounds of the errors of y, dq, dk and dv, to first order in u, the relative error of a factor.
/// A score s = scale q.k is off by 2 u a for a = scale |q|.|k|; a probability by 2 (2 u a) of
/// itself, since the sum over keys is off too. y = m p v loses u more for p and for v. Backward, dp
/// = m dy.v is off by 2 u m b for b = |dy|.|v|, and delta = dy.y by y's error times |dy|.1; dscore
/// by all of these. Sums of p over keys are 1, over queries no more than there are queries.
std::vector<double> bounds_of(const Case& c, double u) {
  const Inputs in = inputs_of(c);
  const double scale = 1 / std::sqrt(static_cast<double>(c.size)), m = 1 / (1 - c.dropout),
               a = scale * largest_product(c, in.q, in.k), b = largest_product(c, in.dy, in.v),
               ones = static_cast<double>(c.size) * largest(in.dy),
               count = static_cast<double>(c.queries);
  const double y = u * m * largest(in.v) * (2 + 4 * a),
               dscore = u * m * b * (8 * a + 2) + y * ones + 4 * u * m * b;
  return {y, scale * largest(in.k) * dscore, scale * largest(in.q) * count * dscore,
          u * m * largest(in.dy) * count * (2 + 4 * a)};
}

double distance(const Doubles& a, const Doubles& b) {
  REQUIRE(a.size() == b.size());
  double top = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    top = std::isnan(d) ? HUGE_VAL : std::max(top, d);
  }
  return top;
}

}  // namespace

TEST_CASE("cuda attention: float64 and highest, every head size, against the CPU") {
  for (const Case& c : cases()) {
    CAPTURE(c.size);
    CAPTURE(c.queries);
    const auto cpu = attend(c, DType::float64, kCpu), exact = attend(c, DType::float64, kGpu),
               single = attend(c, DType::float32, kGpu);
    for (size_t i = 0; i < cpu.size(); ++i) {
      CAPTURE(i);
      CHECK(relative_error(exact[i], cpu[i]) < 1e-13);
      CHECK(relative_error(single[i], cpu[i]) < 1e-5);
    }
  }
}

TEST_CASE("cuda attention: TF32 and bfloat16 are within what their factors lose") {
  double lost[2] = {};  // summed over all results, relative to their largest numbers
  for (const Case& c : cases()) {
    CAPTURE(c.size);
    CAPTURE(c.queries);
    const auto cpu = attend(c, DType::float64, kCpu);
    for (const int bits : {11, 8}) {
      CAPTURE(bits);
      set_matmul_precision(bits == 11 ? MatmulPrecision::high : MatmulPrecision::medium);
      const auto gpu = attend(c, DType::float32, kGpu);
      set_matmul_precision(MatmulPrecision::highest);
      const std::vector<double> bounds = bounds_of(c, std::ldexp(1, -bits));
      for (size_t i = 0; i < cpu.size(); ++i) {
        CAPTURE(i);
        CHECK(distance(gpu[i], cpu[i]) < bounds[i]);
        lost[bits == 8] += relative_error(gpu[i], cpu[i]);
      }
    }
  }
  // Three bits less are eight times the error; what is wrong otherwise is so in both.
  CHECK(lost[1] > 5 * lost[0]);
  CHECK(lost[1] < 13 * lost[0]);
}

TEST_CASE("cuda attention: products on tensor cores give the same bits every time") {
  for (const auto precision : {MatmulPrecision::high, MatmulPrecision::medium}) {
    set_matmul_precision(precision);
    const auto one = attend(cases()[0], DType::float32, kGpu),
               two = attend(cases()[0], DType::float32, kGpu);
    set_matmul_precision(MatmulPrecision::highest);
    CHECK(one == two);
  }
}
