// Products of bfloat16 pieces: their error against float64 beside that of float32 arithmetic, their
// bits against a second description of the hardware, and what they do with the largest, the
// smallest and no numbers. On a CPU without AMX all of it is the emulation.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/bf16_product.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "core/random.h"
#include "core/threads.h"
#include "tests/support/bf16_mode.h"

namespace nine::tests::test_bf16_product {
namespace {

using Numbers = std::vector<float>;

float uniform(uint32_t stream, uint64_t i) {
  return static_cast<float>(2 * random_uniform({.seed = 7, .op = stream}, i) - 1);
}
Numbers numbers(int64_t n, uint32_t stream) {
  Numbers x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = uniform(stream, i);
  return x;
}

struct Sizes {
  int64_t m, n, k;
};

// A B' of row-major a (m, k) and b (n, k).
Numbers product(const Sizes& s, const Numbers& a, const Numbers& b) {
  Numbers c(static_cast<size_t>(s.m * s.n), std::numeric_limits<float>::quiet_NaN());
  gemm<float>({.transpose_b = true,
               .m = s.m,
               .n = s.n,
               .k = s.k,
               .a = a.data(),
               .lda = s.k,
               .b = b.data(),
               .ldb = s.k,
               .c = c.data(),
               .ldc = s.n});
  return c;
}

// Calls f(index in C, a's row, b's row).
template <class F>
void for_elements(const Sizes& s, const Numbers& a, const Numbers& b, F&& f) {
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j)
      f(static_cast<size_t>(i * s.n + j), a.data() + i * s.k, b.data() + j * s.k);
}

// Root of the mean square of the errors over that of the products.
struct Errors {
  double pieces, fma;
};
Errors errors(const Sizes& s, const Numbers& a, const Numbers& b) {
  const Numbers c = product(s, a, b);
  double pieces = 0, fma = 0, size = 0;
  for_elements(s, a, b, [&](size_t at, const float* x, const float* y) {
    double exact = 0;
    float chain = 0;
    for (int64_t k = 0; k < s.k; ++k) {
      exact += static_cast<double>(x[k]) * static_cast<double>(y[k]);
      chain = std::fma(x[k], y[k], chain);
    }
    pieces += std::pow(static_cast<double>(c[at]) - exact, 2);
    fma += std::pow(static_cast<double>(chain) - exact, 2);
    size += exact * exact;
  });
  return {std::sqrt(pieces / size), std::sqrt(fma / size)};
}

float bf16_value(float x) {  // nearest, ties to even, in another way than the packing's
  if (x == 0 || std::fabs(x) < std::numeric_limits<float>::min()) return std::copysign(0.0f, x);
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // 8 bits of it stay
  return std::ldexp(std::nearbyint(mantissa * 256), exponent - 8);
}

float piece(float v, int p) {
  for (int i = 0; i < p; ++i) v -= bf16_value(v);
  return bf16_value(v);
}

// One element as core/bf16_product.h says it, from its words: for numbers far from the subnormal.
using Pass = std::vector<std::pair<int, int>>;
std::vector<Pass> passes_of(int pieces) {
  if (pieces == 3) return {{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}, {{0, 0}}};
  if (pieces == 2) return {{{1, 0}, {0, 0}, {0, 1}}};
  return {{{0, 0}}};
}
float by_description(const float* x, const float* y, int64_t k, int pieces) {
  float c = 0;
  for (int64_t first = 0; first < k; first += 256) {
    float stretch = 0;
    const int64_t end = std::min(k, first + 256);
    for (const Pass& pass : passes_of(pieces))
      for (int64_t k0 = first; k0 < end; k0 += 32)
        for (const auto& [i, j] : pass) {
          float sums[2] = {0, 0};
          for (int64_t t = k0; t < std::min(end, k0 + 32); ++t)
            sums[t % 2] = std::fma(piece(x[t], i), piece(y[t], j), sums[t % 2]);
          stretch += sums[0] + sums[1];
        }
    c += stretch;
  }
  return c;
}

float pairs_by_description(const float* x, const float* y, int64_t k, int pieces) {
  float c = 0;
  for (int64_t first = 0; first < k; first += 256) {
    float stretch = 0;
    const int64_t end = std::min(k, first + 256);
    for (const Pass& pass : passes_of(pieces))
      for (int64_t k0 = first; k0 < end; k0 += 32)
        for (const auto& [i, j] : pass)
          for (int64_t t = k0; t < std::min(end, k0 + 32); t += 2) {
            if (t + 1 < k) stretch = std::fma(piece(x[t + 1], i), piece(y[t + 1], j), stretch);
            stretch = std::fma(piece(x[t], i), piece(y[t], j), stretch);
          }
    c += stretch;
  }
  return c;
}

TEST_CASE("bf16 pieces: rounding is the instruction's, at ties, subnormals, infinities and NaN") {
  const Bf16Mode mode(MatmulPrecision::medium);
  const auto packed = [](float x) {
    std::vector<uint16_t> tiles(bf16::kTile);
    Numbers row(32, 0.0f);
    row[0] = x;
    bf16::loops()->pack_left({.x = row.data(), .ld = 32}, 1, 32, bf16::layout_of(32, 1),
                             tiles.data());
    return tiles[0];
  };
  CHECK(packed(1.0f) == 0x3f80);
  CHECK(packed(std::bit_cast<float>(0x3f808000)) == 0x3f80);  // a tie, to the even 0x3f80
  CHECK(packed(std::bit_cast<float>(0x3f818000)) == 0x3f82);  // a tie, to the even 0x3f82
  CHECK(packed(std::bit_cast<float>(0x3f808001)) == 0x3f81);
  CHECK(packed(std::bit_cast<float>(0x007fffff)) == 0);  // subnormal
  CHECK(packed(std::bit_cast<float>(0x807fffff)) == 0x8000);
  CHECK(packed(std::bit_cast<float>(0x00800000)) == 0x0080);
  CHECK(packed(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(packed(-std::numeric_limits<float>::infinity()) == 0xff80);
  CHECK((packed(std::numeric_limits<float>::quiet_NaN()) & 0x7fc0) == 0x7fc0);
}

// Whether these loops give the bits that `described` says in all three precisions.
void check_bits(const bf16::Loops& loops,
                float (*described)(const float* x, const float* y, int64_t k, int pieces)) {
  for (const MatmulPrecision precision :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    const Bf16Mode mode(precision, loops);
    for (const Sizes& s : {Sizes{1, 16, 32}, Sizes{3, 17, 33}, Sizes{40, 50, 100},
                           Sizes{130, 520, 70}, Sizes{5, 33, 1100}}) {
      CAPTURE(s.m);
      CAPTURE(s.n);
      CAPTURE(s.k);
      const Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2), c = product(s, a, b);
      int64_t wrong = 0;
      for_elements(s, a, b, [&](size_t at, const float* x, const float* y) {
        if (at % 7 == 0) wrong += c[at] != described(x, y, s.k, bf16::pieces_of(precision));
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("bf16 pieces: every element has the bits that the header describes") {
  check_bits(bf16::emulation(), by_description);
}

TEST_CASE("bf16 pairs: every element has the bits that the header describes") {
  check_bits(bf16::emulation_of_pairs(), pairs_by_description);
}

TEST_CASE("bf16 pairs by FMA: every element has the bits that the header describes") {
  if (bf16::pairs_by_fma() == nullptr) {
    MESSAGE("this build is for CPUs without AVX2: not compared");
    return;
  }
  check_bits(*bf16::pairs_by_fma(), pairs_by_description);
}

TEST_CASE("bf16 pieces: highest is at least as near to float64 as FMAs one after another") {
  const Bf16Mode mode(MatmulPrecision::highest);
  const Sizes s{64, 64, 512};
  const auto scaled = [](Numbers x, double decades) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] *= static_cast<float>(std::pow(10.0, decades * static_cast<double>(uniform(9, i))));
    return x;
  };
  const Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2);
  const auto no_worse = [&](const Numbers& x, const Numbers& y) {
    const Errors e = errors(s, x, y);
    INFO("rms error ", e.pieces, ", of FMAs ", e.fma);
    CHECK(e.pieces <= e.fma);
    CHECK(e.pieces > 0);
  };
  no_worse(a, b);
  no_worse(scaled(a, 5), b);  // ten decades
  no_worse(scaled(a, 5), scaled(b, 5));
  Numbers softmax(a.size());  // most of each row's probability in a few entries, the others tiny
  for (size_t i = 0; i < softmax.size(); ++i) softmax[i] = std::exp(15 * (uniform(3, i) - 1));
  no_worse(softmax, b);
  for (const double share : {0.25, 0.06, 0.02}) {
    Numbers sparse = a;
    for (size_t i = 0; i < sparse.size(); ++i)
      if (std::fabs(static_cast<double>(uniform(4, i))) > share) sparse[i] = 0;
    no_worse(sparse, b);
  }
}

TEST_CASE("bf16 pieces: high keeps 16 bits of the factors, medium 8") {
  const Sizes s{64, 64, 512};
  const Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2);
  {
    const Bf16Mode mode(MatmulPrecision::high);
    const double e = errors(s, a, b).pieces;
    CHECK(e < 6e-6);
    CHECK(e > 2e-6);
  }
  const Bf16Mode mode(MatmulPrecision::medium);
  const double e = errors(s, a, b).pieces;
  CHECK(e < 3e-3);
  CHECK(e > 1e-3);
}

TEST_CASE("bf16 pieces: infinities, NaN and the largest floats give what float32 gives") {
  const Sizes s{20, 40, 64};
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN(),
              max = std::numeric_limits<float>::max();
  for (const MatmulPrecision precision : {MatmulPrecision::highest, MatmulPrecision::medium}) {
    const Bf16Mode mode(precision);
    for (const auto& factors : {std::pair(inf, 1.0f),
                                {-inf, 0.0f},
                                {nan, 1.0f},
                                {max, 1.0f},
                                {max, 0.25f},
                                {1.5e19f, 2.2e19f},
                                {1.9e19f, -2.1e19f}}) {
      const float large = factors.first, other = factors.second;
      CAPTURE(large);
      CAPTURE(other);
      Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2);
      a[static_cast<size_t>(3 * s.k + 5)] = large;
      for (int64_t j = 0; j < s.n; ++j) b[static_cast<size_t>(j * s.k + 5)] = other;
      const Numbers c = product(s, a, b);
      int64_t wrong = 0;
      for_elements(s, a, b, [&](size_t at, const float* x, const float* y) {
        float sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum = std::fma(x[k], y[k], sum);
        wrong += std::isnan(sum)   ? !std::isnan(c[at])
                 : std::isinf(sum) ? c[at] != sum
                                   : !(std::fabs(c[at] - sum) <= 0.03f * std::fabs(sum) + 0.1f);
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("bf16 pieces: all products but those that could overflow are computed from pieces") {
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  for (const float small : {0.0f, 1e-45f, 1e-37f, 1e-9f, 0.03f, 1.0f, 1e6f})
    for (const float other : {0.0f, 1e-37f, 0.03f, 1.0f, 1e20f}) {
      CAPTURE(small);
      CAPTURE(other);
      CHECK(bf16::fits(bits(small), bits(other), 512));
      CHECK(bf16::fits(bits(other), bits(small), 512));
    }
  CHECK_FALSE(bf16::fits(bits(1e19f), bits(1e19f), 512));
  CHECK_FALSE(bf16::fits(bits(0.0f), bits(std::numeric_limits<float>::infinity()), 512));
  CHECK_FALSE(bf16::fits(bits(std::numeric_limits<float>::quiet_NaN()), 0, 512));
}

TEST_CASE("bf16 pieces: a row with infinity or NaN changes no bit of other rows") {
  const Sizes s{20, 40, 64};
  const Bf16Mode mode(MatmulPrecision::highest);
  Numbers a = numbers(s.m * s.k, 1);
  const Numbers b = numbers(s.n * s.k, 2), before = product(s, a, b);
  for (const float large :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    CAPTURE(large);
    a[static_cast<size_t>(3 * s.k + 5)] = large;
    const Numbers c = product(s, a, b);
    for (int64_t i = 0; i < s.m; ++i)
      CHECK((i == 3 ||
             std::equal(c.data() + i * s.n, c.data() + (i + 1) * s.n, before.data() + i * s.n)));
  }
}

TEST_CASE("bf16 pieces: what is below 2^-126 counts as 0 and costs no more than that") {
  const Bf16Mode mode(MatmulPrecision::highest);
  const Sizes s{16, 32, 64};
  Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2);
  for (float& x : a) x *= 1e-37f;  // its smaller pieces are subnormal
  const Numbers c = product(s, a, b);
  const double bound = static_cast<double>(s.k) * std::ldexp(1.0, -126);
  for_elements(s, a, b, [&](size_t at, const float* x, const float* y) {
    double exact = 0;
    for (int64_t k = 0; k < s.k; ++k)
      exact += static_cast<double>(x[k]) * static_cast<double>(y[k]);
    CHECK(std::fabs(static_cast<double>(c[at]) - exact) <= bound);
  });
}

TEST_CASE("bf16 pieces: what a product is added to may be below 2^-126") {
  const auto check_added = [] {
    const Numbers a(64, 0.0f), b(64 * 32, 1.0f);
    Numbers c(2 * 32, 1e-40f);
    gemm<float>({.m = 2,
                 .n = 32,
                 .k = 32,
                 .a = a.data(),
                 .lda = 32,
                 .b = b.data(),
                 .ldb = 32,
                 .c = c.data(),
                 .ldc = 32,
                 .add = true});
    CHECK(c == Numbers(c.size(), 1e-40f));
  };
  for (const bf16::Loops* loops :
       {&bf16::emulation(), &bf16::emulation_of_pairs(), bf16::pairs_by_fma()}) {
    if (loops == nullptr) continue;
    const Bf16Mode mode(MatmulPrecision::medium, *loops);
    check_added();
  }
  set_matmul_precision(MatmulPrecision::medium);  // what this CPU has
  check_added();
  set_matmul_precision(MatmulPrecision::highest);
}

TEST_CASE("bf16 pieces: a row's bits depend neither on the rows beside it nor on threads") {
  const int threads_before = threads();
  for (const MatmulPrecision precision :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    const Bf16Mode mode(precision);
    const Sizes all{150, 600, 70};
    const Numbers a = numbers(all.m * all.k, 1), b = numbers(all.n * all.k, 2),
                  c = product(all, a, b);
    for (const int64_t rows : {1, 3, 10, 129}) {
      set_threads(rows == 10 ? 3 : 1);
      const Numbers few = product({rows, all.n, all.k}, a, b);
      CHECK(std::memcmp(few.data(), c.data(), few.size() * sizeof(float)) == 0);
    }
  }
  set_threads(threads_before);
}

TEST_CASE("bf16 pieces: the code for this CPU has the bits of the emulation") {
  int compared = 0;
  for (const MatmulPrecision precision :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    set_matmul_precision(precision);
    if (bf16::loops() == nullptr) continue;
    ++compared;
    for (const Sizes& s :
         {Sizes{16, 16, 32}, Sizes{3, 17, 33}, Sizes{130, 520, 170}, Sizes{33, 47, 1100}}) {
      Numbers a = numbers(s.m * s.k, 1), b = numbers(s.n * s.k, 2);
      for (size_t i = 0; i < a.size(); i += 5) a[i] *= 1e-30f;
      for (size_t i = 0; i < b.size(); i += 3) b[i] *= 1e-7f;
      const Numbers own = product(s, a, b);
      const bool tiles =
          bf16::loops() == &bf16::emulation() || instruction_set() == InstructionSet::amx;
      const Bf16Mode mode(precision, tiles ? bf16::emulation() : bf16::emulation_of_pairs());
      const Numbers emulated = product(s, a, b);
      CHECK(std::memcmp(own.data(), emulated.data(), own.size() * sizeof(float)) == 0);
    }
  }
  const char* const asked_for = std::getenv("NINE_BF16_TILES");
  if (asked_for != nullptr) CHECK(compared == 3);
  if (compared == 0)
    MESSAGE(
        "this CPU has neither AMX nor AVX512-BF16, or NINE_ISA forbids it, and nobody asked for "
        "pairs: not compared");
  set_matmul_precision(MatmulPrecision::highest);
}

}  // namespace

}  // namespace nine::tests::test_bf16_product
