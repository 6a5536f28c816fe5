// Products of bfloat16 with float32 sums: cuBLAS's against exact sums and against the CPU's
// emulation of tiles (core/bf16_product.h), and the cut of their factors into pieces.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

#include "core/bf16_product.h"
#include "core/error.h"
#include "core/ops.h"
#include "cuda/bf16_matmul.h"
#include "kernels/ops.h"
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

namespace {

// The bfloat16 nearest to x, ties to even, for numbers that are normal as bfloat16.
double nearest_bf16(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}
// Piece p of each number. The rest of a float32 is exact in double.
Doubles piece_of(const Doubles& x, int p) {
  Doubles out;
  for (const double number : x) {
    double rest = number;
    for (int i = 0; i < p; ++i) rest -= nearest_bf16(rest);
    out.push_back(nearest_bf16(rest));
  }
  return out;
}
// Random float32 numbers, with ties and numbers of few digits.
Doubles numbers_to_cut(const Shape& shape) {
  Doubles values =
      tensor_of(random_values({{shape, -3, 3}}, 32)[0], shape, DType::float32).to_vector();
  values.front() = 1 + std::ldexp(1, -8);  // a tie, to even: 1
  if (values.size() > 100) {
    values[1] = 1 + 3 * std::ldexp(1, -8);                      // a tie, to even: up
    values[2] = 0;                                              // no pieces
    values[3] = -std::ldexp(1, -60);                            // one piece
    values[4] = 1 + std::ldexp(1, -9) + std::ldexp(1, -23);     // three
    values[5] = -(1 + std::ldexp(1, -9) + std::ldexp(1, -17));  // a tie of the second piece
  }
  return values;
}

// A factor of a product on the GPU, as pieces.
std::vector<cuda::PieceColumns> cut(const Tensor& x, int count, const Tensor& rest) {
  return cuda::cut_in_place("a test", x.view(), count, count > 2 ? rest.view() : View{});
}

constexpr MatmulPrecision kPrecisions[] = {MatmulPrecision::highest, MatmulPrecision::high,
                                           MatmulPrecision::medium};

}  // namespace

TEST_CASE("cuda bfloat16: a product of pieces is the CPU's, but for the order of its sums") {
  for (const MatmulPrecision precision : kPrecisions) {
    const Bf16Mode mode(precision);
    const int count = bf16::pieces_of(precision);
    CAPTURE(count);
    // The CPU multiplies smaller factors in float32.
    for (const Sizes& s : {Sizes{37, 48, 96}, Sizes{16, 16, 512}})
      for (const bool ta : {false, true}) {
        CAPTURE(ta);
        const Shape left = shape_of(ta, s.m, s.k), right{s.k, s.n};
        auto values = random_values({{left}, {right}}, 31);
        const Tensor a = tensor_of(values[0], left, DType::float32),
                     b = tensor_of(values[1], right, DType::float32), c({s.m, s.n}, DType::float32),
                     on_gpu({s.m, s.n}, DType::float32, kGpu);
        values = {a.to_vector(), b.to_vector()};
        ops::matmul(a, ta, b, false, {c});
        const Tensor x = to_device(a, kGpu), y = to_device(b, kGpu),
                     rest_x(left, DType::bfloat16, kGpu), rest_y(right, DType::bfloat16, kGpu);
        const auto cut_x = cut(x, count, rest_x), cut_y = cut(y, count, rest_y);
        REQUIRE(cut_x.size() == 1);
        REQUIRE(cut_y.size() == 1);
        cuda::matmul_pieces("a test", count, cut_x[0].pieces, ta, cut_y[0].pieces, false, {on_gpu});
        const Doubles cpu = c.to_vector(), gpu = on_gpu.to_vector();
        double lost = 0;  // by the digits that pieces leave out
        for (int64_t r = 0; r < s.m; ++r)
          for (int64_t col = 0; col < s.n; ++col) {
            double exact = 0, terms = 0;
            for (int64_t k = 0; k < s.k; ++k) {
              const double term = element(values[0], ta, s.m, s.k, r, k) *
                                  element(values[1], false, s.k, s.n, k, col);
              exact += term;
              terms += std::abs(term);
            }
            const size_t at = index_of(r * s.n + col);
            CHECK(std::abs(gpu[at] - cpu[at]) <= std::ldexp(terms, -20));
            lost = std::max(lost, std::abs(gpu[at] - exact) / terms);
          }
        if (count == 1) CHECK(lost > std::ldexp(1, -14));  // neither float32 nor TF32
        CHECK(lost < std::ldexp(1, count == 1 ? -8 : count == 2 ? -15 : -20));
      }
  }
}

TEST_CASE("cuda bfloat16: numbers are cut in their own memory, into exact pieces") {
  for (const int count : {1, 2, 3})
    for (const int64_t cols : {1, 33, 256, 8192, 8193, 20000}) {
      CAPTURE(count);
      CAPTURE(cols);
      constexpr int64_t kRows = 3, kGap = 7;
      const Doubles values = numbers_to_cut({kRows, cols});
      const Tensor host = tensor_of(values, {kRows, cols}, DType::float32);
      // The columns behind the matrix keep their numbers.
      const Tensor wide = to_device(tensor_of(Doubles(index_of(kRows * (cols + kGap)), 7.0),
                                              {kRows, cols + kGap}, DType::float32),
                                    kGpu);
      const Tensor x = wide.col_range(0, cols), rest({kRows, cols}, DType::bfloat16, kGpu);
      ops::copy(host, x);
      std::vector<Doubles> found(3, Doubles(values.size()));
      int64_t next = 0;
      for (const cuda::PieceColumns& part : cut(x, count, rest)) {
        const int64_t width = part.pieces[0].cols();
        CHECK(part.first == next);
        CHECK(width <= (count == 1 ? cols : 8192));
        next += width;
        for (int p = 0; p < 3; ++p) {
          const View& piece = part.pieces[static_cast<size_t>(p)];
          CHECK(static_cast<bool>(piece) == (p < count));
          if (!piece) continue;
          const Tensor read({kRows, width}, DType::bfloat16, kGpu);
          ops::copy(piece, read);
          const Doubles numbers = read.to_vector();
          for (int64_t r = 0; r < kRows; ++r)
            for (int64_t c = 0; c < width; ++c)
              found[static_cast<size_t>(p)][index_of(r * cols + part.first + c)] =
                  numbers[index_of(r * width + c)];
        }
      }
      CHECK(next == cols);
      for (int p = 0; p < count; ++p) CHECK(found[static_cast<size_t>(p)] == piece_of(values, p));
      if (count == 3)
        for (size_t i = 0; i < values.size(); ++i)
          CHECK(found[0][i] + found[1][i] + found[2][i] == values[i]);
      CHECK(wide.col_range(cols, kGap).to_vector() == Doubles(index_of(kRows * kGap), 7.0));
    }
}

TEST_CASE("cuda bfloat16: infinity, NaN and numbers beyond bfloat16's stay infinite or NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = to_device(
      tensor_of({infinity, -infinity, std::nan(""), 3.4e38}, {1, 4}, DType::float32), kGpu);
  const Tensor read({1, 4}, DType::bfloat16, kGpu);
  ops::copy(cuda::cut_in_place("a test", x.view(), 1)[0].pieces[0], read);
  const Doubles high = read.to_vector();
  CHECK(high[0] == infinity);
  CHECK(high[1] == -infinity);
  CHECK(std::isnan(high[2]));
  CHECK(high[3] == infinity);
}

TEST_CASE("cuda bfloat16: vectors are cut into the pieces that each pair takes, CPU and GPU") {
  for (const int count : {1, 2, 3})
    for (const int64_t d : {1, 8, 42})
      for (const bool left : {false, true}) {
        CAPTURE(count);
        CAPTURE(d);
        CAPTURE(left);
        constexpr int64_t kRows = 5;
        const Doubles values = numbers_to_cut({kRows, d});
        const int64_t columns = ops::head_piece_columns(d, count), ld = ops::bf16_ld(d);
        const auto pairs = bf16::pairs_of(count);
        REQUIRE(columns == ld * std::ssize(pairs));
        Doubles expected(index_of(kRows * columns), 0.0);
        for (int64_t i = 0; i < std::ssize(pairs); ++i) {
          const auto& [of_left, of_right] = pairs[static_cast<size_t>(i)];
          const Doubles piece = piece_of(values, left ? of_left : of_right);
          for (int64_t r = 0; r < kRows; ++r)
            for (int64_t c = 0; c < d; ++c)
              expected[index_of(r * columns + i * ld + c)] = piece[index_of(r * d + c)];
        }
        for (const Device device : {kCpu, kGpu}) {
          const Tensor x = to_device(tensor_of(values, {kRows, d}, DType::float32), device, 3),
                       out({kRows, columns}, DType::bfloat16, device);
          ops::head_pieces(x, count, left, out);
          CHECK(out.to_vector() == expected);
        }
      }
}

TEST_CASE("cuda bfloat16: how many pieces a precision has, and which pairs of them are added") {
  // Pairs (i, j) are of the size 2^-8(i + j): all that the last piece of a factor reaches.
  for (const int count : {1, 2, 3}) {
    const auto pairs = bf16::pairs_of(count);
    CHECK(std::ssize(pairs) == count * (count + 1) / 2);
    std::set<bf16::PiecePair> seen(pairs.begin(), pairs.end());
    CHECK(seen.size() == pairs.size());
    for (const auto& [left, right] : pairs) CHECK(left + right < count);
  }
  CHECK(bf16::pairs_of(3).back() == bf16::PiecePair(0, 0));

  const auto pieces = [](const char* setting) {
    setenv("NINE_CUDA_PIECES", setting, 1);
    std::vector<int> out;
    for (const MatmulPrecision precision : kPrecisions) {
      const Bf16Mode mode(precision);
      out.push_back(bf16::pieces_on_gpu());
    }
    unsetenv("NINE_CUDA_PIECES");
    return out;
  };
  CHECK(pieces("") == std::vector{0, 2, 1});
  CHECK(pieces("high") == std::vector{0, 2, 1});
  CHECK(pieces("highest") == std::vector{3, 2, 1});
  CHECK(pieces("medium") == std::vector{0, 0, 1});
  CHECK_THROWS_WITH_AS(pieces("tf32"), "NINE_CUDA_PIECES=tf32: must be highest, high or medium",
                       Error);
  unsetenv("NINE_CUDA_PIECES");
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
  CHECK_THROWS_WITH_AS(cuda::cut_in_place("op", a.view(), 1), doctest::Contains("got bfloat16"),
                       Error);
  CHECK_THROWS_WITH_AS(cuda::cut_in_place("op", c.view(), 4), doctest::Contains("got 4"), Error);
  CHECK_THROWS_WITH_AS(cuda::cut_in_place("op", c.view(), 3, a.view()),
                       doctest::Contains("third pieces of a matrix of shape"), Error);
  CHECK_THROWS_WITH_AS(ops::head_pieces(a, 1, true, b), doctest::Contains("cuts float32"), Error);
  CHECK_THROWS_WITH_AS(ops::head_pieces(c, 2, true, b), doctest::Contains("the pieces"), Error);
}
