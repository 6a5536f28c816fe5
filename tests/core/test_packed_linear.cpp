// PackedLinear: its results are gemm()'s, in float32 to rounding and in bfloat16 pieces to the bit,
// whatever the number of rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/gemm.h"
#include "core/packed_linear.h"
#include "core/random.h"
#include "tests/support/bf16_mode.h"

namespace nine::tests::test_packed_linear {
namespace {

using Linear = PackedLinear<float>;
using Numbers = std::vector<float>;
constexpr int64_t kWide = 7;  // numbers between rows, beside the rows' own

Tensor random_tensor(const Shape& shape, uint32_t stream) {
  Tensor t(shape, DType::float32);
  for (int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[i] = static_cast<float>(
        2 * random_uniform({.seed = 3, .op = stream}, static_cast<uint64_t>(i)) - 1);
  return t;
}

struct Case {
  int64_t rows = 0, in = 0, out = 0;
  Tensor x = random_tensor({rows, in + kWide}, 1), w = random_tensor({out, in}, 2),
         bias = random_tensor({out}, 3), before = random_tensor({rows, out}, 4);

  int64_t ldx() const { return in + kWide; }
  Numbers by_gemm(LinearMode mode) const {
    Numbers y(before.data<float>(), before.data<float>() + rows * out);
    gemm<float>({.transpose_b = true,
                 .m = rows,
                 .n = out,
                 .k = in,
                 .a = x.data<float>(),
                 .lda = ldx(),
                 .b = w.data<float>(),
                 .ldb = in,
                 .c = y.data(),
                 .ldc = out,
                 .add = mode == LinearMode::add});
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += bias.data<float>()[i % static_cast<size_t>(out)];
      if (mode == LinearMode::relu) y[i] = std::max(y[i], 0.0F);
    }
    return y;
  }
  // Rows [first, first + count).
  Numbers by(const Linear& linear, LinearMode mode, int64_t first, int64_t count) const {
    Numbers y(static_cast<size_t>(count * out));
    std::copy_n(before.data<float>() + first * out, count * out, y.begin());
    linear(x.data<float>() + first * ldx(), ldx(), count, y.data(), out, mode);
    return y;
  }
};

constexpr LinearMode kModes[] = {LinearMode::plain, LinearMode::relu, LinearMode::add};

void check_rows_alone(const Case& c, const Linear& linear, LinearMode mode, const Numbers& all) {
  for (const int64_t count : {1, 2, 3, 4, 6})
    for (int64_t first = 0; first + count <= c.rows; first += 9) {
      CAPTURE(first);
      const Numbers part = c.by(linear, mode, first, count);
      CHECK(std::equal(part.begin(), part.end(), all.begin() + first * c.out));
    }
}

}  // namespace

TEST_CASE("packed linear: in float32 the results are gemm's to rounding, a row's bits its own") {
  for (const Case& c : {Case{1, 5, 3}, Case{7, 300, 150}, Case{70, 64, 64}, Case{23, 33, 129}}) {
    CAPTURE(c.rows);
    CAPTURE(c.in);
    const Linear linear(c.w, c.bias);
    for (const LinearMode mode : kModes) {
      const Numbers expected = c.by_gemm(mode), found = c.by(linear, mode, 0, c.rows);
      for (size_t i = 0; i < expected.size(); ++i)
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5).scale(1));
      check_rows_alone(c, linear, mode, found);
    }
  }
}

TEST_CASE("packed linear: in pieces the results have the bits of gemm") {
  const auto check = [](MatmulPrecision precision, const bf16::Loops& loops) {
    const Bf16Mode mode_in_use(precision, loops);
    CAPTURE(static_cast<int>(precision));
    for (const Case& c :
         {Case{1, 32, 16}, Case{7, 300, 150}, Case{70, 64, 64}, Case{130, 1100, 33}}) {
      CAPTURE(c.rows);
      CAPTURE(c.in);
      const Linear linear(c.w, c.bias);
      CHECK(linear.piece_numbers(1) > 0);
      for (const LinearMode mode : kModes) {
        const Numbers found = c.by(linear, mode, 0, c.rows);
        CHECK(found == c.by_gemm(mode));
        check_rows_alone(c, linear, mode, found);
      }
    }
    // Smaller than a tile: in float32.
    const Case narrow{5, 31, 20};
    CHECK(Linear(narrow.w).piece_numbers(5) == 0);
  };
  check(MatmulPrecision::highest, bf16::emulation());
  check(MatmulPrecision::high, bf16::emulation());
  check(MatmulPrecision::medium, bf16::emulation());
  check(MatmulPrecision::medium, bf16::emulation_of_pairs());
}

TEST_CASE("packed linear: rows with numbers too large for pieces are multiplied in float32") {
  const Bf16Mode mode(MatmulPrecision::medium);
  const Case c{9, 40, 70};
  const Linear linear(c.w, c.bias);
  const Numbers usual = c.by(linear, LinearMode::plain, 0, c.rows);
  c.x.data<float>()[4 * c.ldx() + 3] = std::numeric_limits<float>::infinity();
  c.x.data<float>()[6 * c.ldx() + 39] = 3e38F;
  const Numbers found = c.by(linear, LinearMode::plain, 0, c.rows);
  CHECK(found == c.by_gemm(LinearMode::plain));
  for (int64_t r = 0; r < c.rows; ++r) {
    CAPTURE(r);
    const auto at = static_cast<size_t>(r * c.out);
    if (r == 4) {
      CHECK(std::isinf(found[at]));
    } else if (r != 6) {
      CHECK(std::equal(found.begin() + r * c.out, found.begin() + (r + 1) * c.out,
                       usual.begin() + r * c.out));
    }
  }
  CHECK(c.by(Linear(c.w), LinearMode::plain, 0, 0).empty());
}

TEST_CASE("packed linear: a layer keeps the precision in which it was made") {
  const Case c{6, 64, 80};
  std::unique_ptr<Linear> linear;
  Numbers made;
  {
    const Bf16Mode mode(MatmulPrecision::medium);
    linear = std::make_unique<Linear>(c.w, c.bias);
    made = c.by(*linear, LinearMode::plain, 0, c.rows);
  }
  CHECK(c.by(*linear, LinearMode::plain, 0, c.rows) == made);
}

}  // namespace nine::tests::test_packed_linear
