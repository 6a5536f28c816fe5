// Products of bfloat16 with float32 sums: cuBLAS's against exact sums and against the CPU's
// emulation of tiles (core/bf16_product.h), and the rounding of their factors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/ops.h"
#include "cuda/bf16_matmul.h"
#include "tests/cuda/device_cases.h"
#include "tests/support/bf16_mode.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

// Rows, columns and terms; odd ones, so that rows of a factor begin at odd multiples of two bytes.
struct Sizes {
  int64_t m, n, k;
};
constexpr Sizes kSizes[] = {{1, 1, 1}, {16, 24, 32}, {37, 19, 65}, {5, 70, 96}, {64, 33, 7}};

Shape shape_of(bool transposed, int64_t rows, int64_t cols) {
  return transposed ? Shape{cols, rows} : Shape{rows, cols};
}
double element(const Doubles& x, bool transposed, int64_t rows, int64_t cols, int64_t r,
               int64_t c) {
  return x[index_of(transposed ? c * rows + r : r * cols + c)];
}

// The product on the GPU of factors that are rounded there, with `gap` unused columns.
Doubles product(const Sizes& s, const Doubles& a, bool ta, const Doubles& b, bool tb,
                const Doubles* before, int64_t gap) {
  const auto rounded = [&](const Doubles& x, const Shape& shape) {
    const Tensor exact = to_device(tensor_of(x, shape, DType::float32), kGpu),
                 wide({shape.rows(), shape.cols() + gap}, DType::bfloat16, kGpu);
    Tensor out = wide.col_range(0, shape.cols());
    ops::copy(exact, out);
    return out;
  };
  const Doubles start =
      before != nullptr ? *before : Doubles(index_of(s.m * s.n), std::nan(""));  // overwritten
  const Tensor c = to_device(tensor_of(start, {s.m, s.n}, DType::float32), kGpu, gap);
  cuda::matmul_bf16("a test", rounded(a, shape_of(ta, s.m, s.k)).view(), ta,
                    rounded(b, shape_of(tb, s.k, s.n)).view(), tb, {c, before != nullptr});
  return c.to_vector();
}

Doubles integers(int64_t count, int64_t step) {
  Doubles out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<double>((step * i + 3) % 17 - 8));
  return out;
}

}  // namespace

TEST_CASE("cuda bfloat16: products of small integers are exact, in every layout") {
  for (const Sizes& s : kSizes) {
    const Doubles a = integers(s.m * s.k, 7), b = integers(s.k * s.n, 5),
                  before = integers(s.m * s.n, 3);
    for (const int layout : {0, 1, 2, 3})
      for (const bool add : {false, true})
        for (const int64_t gap : {0, 3}) {
          const bool ta = layout % 2 == 1, tb = layout / 2 == 1;
          CAPTURE(s.k);
          CAPTURE(layout);
          CAPTURE(add);
          CAPTURE(gap);
          Doubles expected(index_of(s.m * s.n), 0.0);
          for (int64_t r = 0; r < s.m; ++r)
            for (int64_t c = 0; c < s.n; ++c) {
              double& sum = expected[index_of(r * s.n + c)];
              if (add) sum = before[index_of(r * s.n + c)];
              for (int64_t k = 0; k < s.k; ++k)
                sum += element(a, ta, s.m, s.k, r, k) * element(b, tb, s.k, s.n, k, c);
            }
          CHECK(product(s, a, ta, b, tb, add ? &before : nullptr, gap) == expected);
        }
  }
}

TEST_CASE("cuda bfloat16: a product is the CPU's of one piece, but for the order of its sums") {
  const Bf16Mode mode(MatmulPrecision::medium);
  // The CPU multiplies smaller factors in float32.
  for (const Sizes& s : {Sizes{37, 48, 96}, Sizes{16, 16, 512}}) {
    const auto values = random_values({{{s.m, s.k}}, {{s.k, s.n}}}, 31);
    const Tensor a = tensor_of(values[0], {s.m, s.k}, DType::float32),
                 b = tensor_of(values[1], {s.k, s.n}, DType::float32);
    const Tensor c({s.m, s.n}, DType::float32);
    ops::matmul(a, false, b, false, {c});
    const Doubles cpu = c.to_vector(),
                  gpu = product(s, values[0], false, values[1], false, nullptr, 0);
    double lost = 0;  // by the rounding of the factors
    for (int64_t r = 0; r < s.m; ++r)
      for (int64_t col = 0; col < s.n; ++col) {
        double exact = 0, terms = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          const double term = element(values[0], false, s.m, s.k, r, k) *
                              element(values[1], false, s.k, s.n, k, col);
          exact += term;
          terms += std::abs(term);
        }
        const size_t at = index_of(r * s.n + col);
        CHECK(std::abs(gpu[at] - cpu[at]) <= std::ldexp(terms, -20));
        lost = std::max(lost, std::abs(gpu[at] - exact) / terms);
      }
    CHECK(lost > std::ldexp(1, -14));  // neither float32 nor TF32
    CHECK(lost < std::ldexp(1, -8));
  }
}

TEST_CASE("cuda bfloat16: rows are rounded in their own memory, as on the CPU") {
  for (const int64_t cols : {1, 33, 256, 2048, 2049, 5000}) {
    CAPTURE(cols);
    constexpr int64_t kRows = 5, kGap = 7;
    Doubles values = random_values({{{kRows, cols}, -3, 3}}, 32)[0];
    values.front() = 1 + std::ldexp(1, -8);  // a tie, to even: 1
    values.back() = std::numeric_limits<double>::infinity();
    if (cols > 33) {
      values[1] = 1 + 3 * std::ldexp(1, -8);  // a tie, to even: up
      values[2] = 3.4e38;                     // above bfloat16's numbers
      values[3] = -std::ldexp(1, -130);
    }
    const Tensor host = tensor_of(values, {kRows, cols}, DType::float32),
                 expected({kRows, cols}, DType::bfloat16);
    ops::copy(host, expected);
    // The columns behind the matrix keep their numbers.
    const Tensor wide = to_device(tensor_of(Doubles(index_of(kRows * (cols + kGap)), 7.0),
                                            {kRows, cols + kGap}, DType::float32),
                                  kGpu);
    const Tensor x = wide.col_range(0, cols);
    ops::copy(host, x);
    const View rounded = cuda::round_in_place("a test", x.view());
    CHECK(rounded.data == x.view().data);
    const Tensor read({kRows, cols}, DType::bfloat16, kGpu);
    ops::copy(rounded, read);
    CHECK(read.to_vector() == expected.to_vector());
    CHECK(wide.col_range(cols, kGap).to_vector() == Doubles(index_of(kRows * kGap), 7.0));
  }
}

TEST_CASE("cuda bfloat16: wrong matrices are named") {
  const auto matrix = [](DType dtype, const Shape& shape, Device device = kGpu) {
    return Tensor(shape, dtype, device);
  };
  const Tensor a = matrix(DType::bfloat16, {2, 3}), b = matrix(DType::bfloat16, {3, 4}),
               c = matrix(DType::float32, {2, 4});
  const auto fails = [](const Tensor& x, const Tensor& y, const Tensor& z, const char* why) {
    CHECK_THROWS_WITH_AS(cuda::matmul_bf16("op", x.view(), false, y.view(), false, {z}),
                         doctest::Contains(why), Error);
  };
  fails(matrix(DType::float32, {2, 3}), b, c, "float32, bfloat16 and float32");
  fails(a, b, matrix(DType::float64, {2, 4}), "bfloat16, bfloat16 and float64");
  fails(a, a, c, "[op] factors of shapes");
  fails(a, b, matrix(DType::float32, {4, 2}), "do not give");
  fails(matrix(DType::bfloat16, {2, 3}, kCpu), b, c, "on a GPU");
  CHECK_THROWS_WITH_AS(cuda::round_in_place("op", a.view()), doctest::Contains("got bfloat16"),
                       Error);
}
