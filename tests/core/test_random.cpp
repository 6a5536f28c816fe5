// Random numbers: Philox against its authors' known answers, and the distributions drawn from it.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "core/random.h"

namespace nine::tests::test_random {
namespace {

// Philox's counter and key as they stand in Random123's kat_vectors, in terms of our key.
std::array<uint32_t, 4> philox_of(const std::array<uint32_t, 4>& counter,
                                  const std::array<uint32_t, 2>& key) {
  const RandomKey k{.seed = (uint64_t{key[1]} << 32) | key[0],
                    .step = counter[2],
                    .micro_batch = static_cast<uint16_t>(counter[1] & 0xffff),
                    .rank = 0,
                    .op = counter[3]};
  return philox(k, (uint64_t{counter[1] >> 16} << 32) | counter[0]);
}

}  // namespace

TEST_CASE("random: Philox 4x32-10's known answers") {
  using Block = std::array<uint32_t, 4>;
  CHECK(philox_of({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(philox_of({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_of({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: every part of the key makes another stream") {
  const RandomKey base{.seed = 5, .step = 6, .micro_batch = 7, .rank = 8, .op = 9};
  std::vector<RandomKey> keys(8, base);
  keys[1].seed += 1;
  keys[2].seed += uint64_t{1} << 32;
  keys[3].step += 1;
  keys[4].micro_batch += 1;
  keys[5].rank += 1;
  keys[6].op += 1;
  keys[7].rank = 65535;
  std::set<std::array<uint32_t, 4>> blocks;
  for (const RandomKey& k : keys)
    for (const uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 40})
      blocks.insert(philox(k, block));
  CHECK(blocks.size() == 32);
}

TEST_CASE("random: element i is the same number whoever asks") {
  const RandomKey key{.seed = 3};
  RandomStream stream(key);
  for (uint64_t i = 0; i < 20; ++i) {
    CHECK(random_bits(key, i) == philox(key, i / 4)[i % 4]);
    CHECK(stream.position() == i);
    CHECK(stream.bits() == random_bits(key, i));
  }
  RandomStream later(key, 17);
  CHECK(later.bits() == random_bits(key, 17));
}

TEST_CASE("random: stream names are FNV-1a") {
  static_assert(stream_id("") == 0x811c9dc5u);
  CHECK(stream_id("a") == 0xe40c292cu);
  CHECK(stream_id("foobar") == 0xbf9cf968u);
}

TEST_CASE("random: uniform numbers lie in [0, 1) and have their moments") {
  constexpr int kCount = 200000;
  const RandomKey key{.seed = 11, .op = stream_id("uniform")};
  double mean = 0, square = 0, neighbours = 0, before = 0.5;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double u = static_cast<double>(random_uniform(key, i));
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    mean += u / kCount;
    square += u * u / kCount;
    neighbours += (u - 0.5) * (before - 0.5) / kCount;
    before = u;
  }
  CHECK(std::abs(mean - 0.5) < 0.003);  // 4.6 standard errors
  CHECK(std::abs(square - 1.0 / 3) < 0.003);
  CHECK(std::abs(neighbours) < 0.001);
  CHECK(uniform_of_bits(0xffffffff) < 1.0f);
  CHECK(uniform_of_bits(0) == 0.0f);
  RandomStream stream(key);
  for (int i = 0; i < 10000; ++i) {
    const double u = stream.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
  }
}

TEST_CASE("random: normal numbers have their first four moments and independent pairs") {
  constexpr int kCount = 200000;
  const RandomKey key{.seed = 12, .op = stream_id("normal")};
  double moments[5] = {}, pairs = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double x = random_normal(key, i);
    REQUIRE(std::isfinite(x));
    double power = 1;
    for (double& m : moments) {
      m += power / kCount;
      power *= x;
    }
    if (i % 2 == 1) pairs += x * random_normal(key, i - 1) / (kCount / 2.0);
  }
  CHECK(std::abs(moments[1]) < 0.011);
  CHECK(std::abs(moments[2] - 1) < 0.016);
  CHECK(std::abs(moments[3]) < 0.045);
  CHECK(std::abs(moments[4] - 3) < 0.11);
  CHECK(std::abs(pairs) < 0.016);
}

TEST_CASE("random: below() is uniform up to its bound") {
  RandomStream random({.seed = 13});
  for (int i = 0; i < 100; ++i) CHECK(random.below(1) == 0);
  constexpr int kCount = 60000;
  int seen[6] = {};
  for (int i = 0; i < kCount; ++i) {
    const uint64_t x = random.below(6);
    REQUIRE(x < 6);
    ++seen[x];
  }
  double chi = 0;
  for (const int n : seen) chi += (n - kCount / 6.0) * (n - kCount / 6.0) / (kCount / 6.0);
  CHECK(chi < 20.5);  // 5 degrees of freedom, one in a thousand
  // A bound just above half of the range: a plain remainder would favour the lower half, rejection
  // draws twice as often.
  const uint64_t bound = (uint64_t{1} << 63) + 1, start = random.position();
  int low = 0;
  for (int i = 0; i < 4000; ++i) {
    const uint64_t x = random.below(bound);
    REQUIRE(x < bound);
    low += x < bound / 2;
  }
  CHECK(std::abs(low - 2000) < 150);
  CHECK(random.position() - start > 4000 * 2 * 1.8);
}

}  // namespace nine::tests::test_random
