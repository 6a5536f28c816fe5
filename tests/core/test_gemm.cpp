// Matrix products: every transpose, odd sizes, leading dimensions, both backends, any number of
// threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/gemm.h"
#include "core/random.h"
#include "core/threads.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_gemm {
namespace {

constexpr int64_t kGap = 3;  // elements between the rows of every matrix
constexpr float kUntouched = 7777;

// A stored matrix with gaps; NaN in the gaps, so that a read there shows.
template <class T>
struct Matrix {
  int64_t rows, cols, ld;
  std::vector<T> data;

  Matrix(int64_t r, int64_t c, uint32_t seed)
      : rows(r),
        cols(c),
        ld(c + kGap),
        data(static_cast<size_t>(r * ld + kGap), std::numeric_limits<T>::quiet_NaN()) {
    for (int64_t i = 0; i < r; ++i)
      for (int64_t j = 0; j < c; ++j)
        at(i, j) = static_cast<T>(
            2 * random_uniform({.seed = 1, .op = seed}, static_cast<uint64_t>(i * c + j)) - 1);
  }
  T& at(int64_t i, int64_t j) { return data[static_cast<size_t>(i * ld + j)]; }
  T at(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * ld + j)]; }
};

struct Options {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;
  bool add = false;
};

template <class T>
std::vector<double> product(const Options& o) {
  const Matrix<T> a(o.transpose_a ? o.k : o.m, o.transpose_a ? o.m : o.k, 1),
      b(o.transpose_b ? o.n : o.k, o.transpose_b ? o.k : o.n, 2);
  Matrix<T> c(o.m, o.n, 3);
  for (int64_t i = 0; i < o.m; ++i) {
    for (int64_t j = 0; j < o.n && !o.add; ++j) c.at(i, j) = std::numeric_limits<T>::quiet_NaN();
    for (int64_t j = o.n; j < c.ld; ++j) c.at(i, j) = static_cast<T>(kUntouched);
  }
  gemm<T>({.transpose_a = o.transpose_a,
           .transpose_b = o.transpose_b,
           .m = o.m,
           .n = o.n,
           .k = o.k,
           .alpha = static_cast<T>(o.alpha),
           .a = a.data.data(),
           .lda = a.ld,
           .b = b.data.data(),
           .ldb = b.ld,
           .c = c.data.data(),
           .ldc = c.ld,
           .add = o.add});
  std::vector<double> out;
  for (int64_t i = 0; i < o.m; ++i) {
    for (int64_t j = 0; j < o.n; ++j) out.push_back(static_cast<double>(c.at(i, j)));
    for (int64_t j = o.n; j < c.ld; ++j) REQUIRE(c.at(i, j) == static_cast<T>(kUntouched));
  }
  return out;
}

template <class T>
std::vector<double> naive(const Options& o) {
  const Matrix<T> a(o.transpose_a ? o.k : o.m, o.transpose_a ? o.m : o.k, 1),
      b(o.transpose_b ? o.n : o.k, o.transpose_b ? o.k : o.n, 2), c(o.m, o.n, 3);
  std::vector<double> out;
  for (int64_t i = 0; i < o.m; ++i)
    for (int64_t j = 0; j < o.n; ++j) {
      double s = 0;
      for (int64_t l = 0; l < o.k; ++l)
        s += static_cast<double>(o.transpose_a ? a.at(l, i) : a.at(i, l)) *
             static_cast<double>(o.transpose_b ? b.at(j, l) : b.at(l, j));
      out.push_back((o.add ? static_cast<double>(c.at(i, j)) : 0) + o.alpha * s);
    }
  return out;
}

template <class T>
void check(const Options& o) {
  CAPTURE(o.m);
  CAPTURE(o.n);
  CAPTURE(o.k);
  CAPTURE(o.transpose_a);
  CAPTURE(o.transpose_b);
  CAPTURE(o.add);
  CAPTURE(sizeof(T));
  const std::vector<double> expected = naive<T>(o);
  for (const GemmBackend backend : built_backends()) {
    CAPTURE(to_text(backend));
    set_gemm_backend(backend);
    set_threads(1);
    const std::vector<double> one = product<T>(o);
    CHECK(relative_error(one, expected) < (sizeof(T) == 8 ? 1e-13 : 1e-5));
    for (const int n : {2, 3}) {
      set_threads(n);
      CHECK(product<T>(o) == one);
    }
  }
}

}  // namespace

TEST_CASE(
    "gemm: all transposes against plain loops, both backends, the same bits with 1, 2 and 3 "
    "threads") {
  const Restore restore;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {1, 9, 4},
                                {9, 1, 4},
                                {5, 3, 7},
                                {63, 65, 17},
                                {64, 64, 512},
                                {130, 67, 513},
                                {70, 129, 1030}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        check<double>({.m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb});
        check<float>({.m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb});
      }
  check<float>({.m = 66, .n = 1100, .k = 40});  // several tasks a row of tiles
}

TEST_CASE("gemm: alpha, and adding to what is there") {
  const Restore restore;
  for (const bool add : {false, true})
    for (const double alpha : {1.0, -0.75, 0.0})
      for (const int64_t k : {5, 600})
        for (const bool t : {false, true}) {
          check<double>({.m = 66,
                         .n = 70,
                         .k = k,
                         .transpose_a = t,
                         .transpose_b = !t,
                         .alpha = alpha,
                         .add = add});
          check<float>({.m = 66,
                        .n = 70,
                        .k = k,
                        .transpose_a = t,
                        .transpose_b = t,
                        .alpha = alpha,
                        .add = add});
        }
}

TEST_CASE("gemm: empty sums and empty results") {
  const Restore restore;
  check<float>({.m = 5, .n = 6, .k = 0});
  check<float>({.m = 5, .n = 6, .k = 0, .add = true});
  check<double>({.m = 0, .n = 6, .k = 3});
  check<double>({.m = 5, .n = 0, .k = 3});
}

TEST_CASE("gemm: a NaN in a factor reaches exactly its row") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    std::vector<float> a(70 * 20, 1), b(20 * 66, 1), c(70 * 66, 0);
    a[33 * 20 + 5] = std::nanf("");
    gemm<float>({.m = 70,
                 .n = 66,
                 .k = 20,
                 .a = a.data(),
                 .lda = 20,
                 .b = b.data(),
                 .ldb = 66,
                 .c = c.data(),
                 .ldc = 66});
    for (size_t i = 0; i < c.size(); ++i) REQUIRE(std::isnan(c[i]) == (i / 66 == 33));
  }
}

namespace {

// Products of some rows, alone and among 200, whose tiles are cut and packed otherwise.
template <class T>
void check_rows_alone(bool transpose_a, bool transpose_b, T alpha) {
  CAPTURE(transpose_a);
  CAPTURE(transpose_b);
  CAPTURE(alpha);
  constexpr int64_t m = 200, n = 70, k = 600;
  const Matrix<T> a(transpose_a ? k : m, transpose_a ? m : k, 1),
      b(transpose_b ? n : k, transpose_b ? k : n, 2);
  const auto rows_from = [&](int64_t first, int64_t count) {
    Matrix<T> c(count, n, 3);
    gemm<T>({.transpose_a = transpose_a,
             .transpose_b = transpose_b,
             .m = count,
             .n = n,
             .k = k,
             .alpha = alpha,
             .a = a.data.data() + (transpose_a ? first : first * a.ld),
             .lda = a.ld,
             .b = b.data.data(),
             .ldb = b.ld,
             .c = c.data.data(),
             .ldc = c.ld});
    return c;
  };
  const Matrix<T> whole = rows_from(0, m);
  for (const auto& [first, count] : {std::array<int64_t, 2>{0, 1}, {61, 5}, {100, 100}}) {
    const Matrix<T> part = rows_from(first, count);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < n; ++j) wrong += part.at(i, j) != whole.at(first + i, j);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("gemm: a row has the same bits alone and among many") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    CAPTURE(to_text(backend));
    set_gemm_backend(backend);
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        check_rows_alone<float>(ta, tb, 1);
        check_rows_alone<float>(ta, tb, 0.75F);
        check_rows_alone<double>(ta, tb, 1);
      }
  }
}

TEST_CASE("gemm: one tile, column-major") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    for (const bool add : {false, true})
      for (const auto& [m, n, k] :
           {std::array<int64_t, 3>{1, 1, 1}, {7, 5, 3}, {32, 64, 40}, {33, 1, 130}}) {
        const Matrix<double> a(k, m, 4), b(n, k, 5);  // transposed: a column is a stored row
        Matrix<double> c(n, m, 6);
        const Matrix<double> before = c;
        TileProduct<double>(m, n, k, a.ld, b.ld, c.ld, add)(a.data.data(), b.data.data(),
                                                            c.data.data());
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double s = add ? before.at(j, i) : 0;
            for (int64_t l = 0; l < k; ++l) s += a.at(l, i) * b.at(j, l);
            REQUIRE(c.at(j, i) == doctest::Approx(s).epsilon(1e-12));
          }
      }
  }
}

namespace {

// Element (i, j) of C + A B for column-major A and stored-transposed B, as core/eigen_tile.h says.
template <class T>
T in_stretches(const Matrix<T>& a, const Matrix<T>& b, T c, int64_t i, int64_t j, int64_t terms) {
  for (int64_t begin = 0; begin < terms; begin += 256) {
    T sum = 0;
    for (int64_t l = begin; l < std::min(terms, begin + 256); ++l)
      sum = std::fma(a.at(l, i), b.at(j, l), sum);
    c += sum;
  }
  return c;
}

template <class T>
void check_stretches(int64_t m, int64_t n, int64_t k) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const Matrix<T> a(k, m, 4), b(n, k, 5);
  Matrix<T> across(k, n, 0);
  for (int64_t l = 0; l < k; ++l)
    for (int64_t j = 0; j < n; ++j) across.at(l, j) = b.at(j, l);
  for (const bool add : {false, true})
    for (const bool transposed : {false, true}) {
      const Matrix<T> before(n, m, 6);
      Matrix<T> c = before;
      TileProduct<T>(m, n, k, a.ld, transposed ? across.ld : b.ld, c.ld, add, transposed)(
          a.data.data(), transposed ? across.data.data() : b.data.data(), c.data.data());
      int64_t wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          wrong += c.at(j, i) != in_stretches(a, b, add ? before.at(j, i) : T(0), i, j, k);
      REQUIRE(wrong == 0);
    }
}

}  // namespace

TEST_CASE("gemm: Eigen's tiles sum every element in one order, whatever their size" *
          doctest::test_suite("check")) {
  const Restore restore;
  set_gemm_backend(GemmBackend::eigen);
  for (int64_t m = 1; m <= 66; m += m < 50 ? 1 : 7)
    for (const int64_t n : {1, 2, 3, 4, 5, 10, 70})
      for (const int64_t k : {1, 9, 260}) {
        check_stretches<float>(m, n, k);
        if (m < 30) check_stretches<double>(m, n, k);
      }
  check_stretches<float>(1000, 3, 513);
  check_stretches<double>(500, 6, 513);
}

TEST_CASE("gemm: a row's bits do not depend on the rows beside it") {
  const Restore restore;
  const int64_t n = 130, k = 520;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    CAPTURE(to_text(backend));
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        constexpr int64_t kAll = 150;
        const Matrix<float> a(transpose_a ? k : kAll, transpose_a ? kAll : k, 1),
            b(transpose_b ? n : k, transpose_b ? k : n, 2);
        const auto rows = [&](int64_t first, int64_t count) {
          std::vector<float> c(static_cast<size_t>(count * n));
          gemm<float>({.transpose_a = transpose_a,
                       .transpose_b = transpose_b,
                       .m = count,
                       .n = n,
                       .k = k,
                       .a = a.data.data() + first * (transpose_a ? 1 : a.ld),
                       .lda = a.ld,
                       .b = b.data.data(),
                       .ldb = b.ld,
                       .c = c.data(),
                       .ldc = n});
          return c;
        };
        const std::vector<float> all = rows(0, kAll);
        for (const int64_t count : {1, 2, 3, 10, 64, 65, 129})
          for (const int64_t first : {0, 7, 21}) {
            CAPTURE(count);
            const std::vector<float> part = rows(first, count);
            REQUIRE(std::equal(part.begin(), part.end(), all.begin() + first * n));
          }
      }
  }
}

TEST_CASE(
    "tile product: an element's bits depend neither on the rows nor on the columns beside it") {
  const Restore restore;
  const auto check = [](auto number) {
    using T = decltype(number);
    constexpr int64_t kLd = 140;
    for (const int64_t k : {1, 7, 64, 300}) {
      const auto numbers = [](int64_t count, uint32_t seed) {
        std::vector<T> x(static_cast<size_t>(count));
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = static_cast<T>(2 * random_uniform({.seed = 1, .op = seed}, i) - 1);
        return x;
      };
      const std::vector<T> a = numbers(kLd * k, 1), b = numbers(kLd * k, 2),
                           c = numbers(kLd * kLd, 3);
      for (const bool add : {false, true})
        for (const bool transpose_b : {false, true}) {
          const auto product = [&](int64_t row, int64_t m, int64_t column, int64_t n) {
            std::vector<T> out = c;
            const T* from_b = b.data() + (transpose_b ? column : column * k);
            TileProduct<T>(m, n, k, kLd, transpose_b ? kLd : k, kLd, add, transpose_b)(
                a.data() + row, from_b, out.data() + column * kLd + row);
            return out;
          };
          const std::vector<T> all = product(0, 64, 0, 64);
          for (const int64_t m : {1, 2, 8, 15, 16, 17, 33, 40, 64})
            for (const int64_t n : {1, 2, 3, 4, 9, 11, 12, 13, 30, 64}) {
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              const int64_t row = 64 - m, column = 64 - n;
              const std::vector<T> part = product(row, m, column, n);
              int64_t wrong = 0;
              for (int64_t j = column; j < 64; ++j)
                for (int64_t i = row; i < 64; ++i)
                  wrong += part[static_cast<size_t>(j * kLd + i)] !=
                           all[static_cast<size_t>(j * kLd + i)];
              CHECK(wrong == 0);
            }
        }
    }
  };
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    CAPTURE(to_text(backend));
    check(float{});
    check(double{});
  }
}

TEST_CASE("gemm: transpose_tile") {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {5, 40}, {16, 16}, {35, 3}}) {
    const Matrix<float> x(rows, cols, 7);
    Matrix<float> y(cols, rows, 8);
    transpose_tile(x.data.data(), x.ld, rows, cols, y.data.data(), y.ld, 2.0f);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) REQUIRE(y.at(j, i) == 2 * x.at(i, j));
  }
}

TEST_CASE("gemm: backends have names, and one that was not built is an Error") {
  CHECK(to_text(GemmBackend::eigen) == "eigen");
  CHECK(to_text(GemmBackend::libxsmm) == "libxsmm");
  CHECK(gemm_backend_built(GemmBackend::eigen));
  if (!gemm_backend_built(GemmBackend::libxsmm))
    CHECK_THROWS_WITH_AS(set_gemm_backend(GemmBackend::libxsmm), doctest::Contains("libxsmm-dev"),
                         Error);
}

}  // namespace nine::tests::test_gemm
