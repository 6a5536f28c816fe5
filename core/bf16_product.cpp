#include "core/bf16_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/instruction_set.h"

#ifdef NINE_DISPATCH
namespace nine::cpu::avx512_bf16 {
void install(bf16::Loops& loops);
}
namespace nine::cpu::amx {
void install(bf16::Loops& loops);
}
#endif

namespace nine {
namespace {

MatmulPrecision precision = MatmulPrecision::highest;
std::string_view setting() {
  const char* text = std::getenv("NINE_BF16_TILES");
  return text == nullptr ? "" : text;
}

const bf16::Loops* emulation_if_asked_for() {
  if (setting().empty() || setting() == "pairs") return nullptr;
  require(setting() == "emulated", "NINE_BF16_TILES=", setting(),
          ": must be emulated or pairs; unset it to use the CPU's tiles if the CPU has tiles");
  return &bf16::emulation();
}

const bf16::Loops*& loops_wanted() {
  static const bf16::Loops* wanted = emulation_if_asked_for();
  return wanted;
}

// The CPU's loops, and the highest precision at which they are faster than float32. Pairs of
// bfloat16 multiply at twice float32's speed, which is no gain if three products make one.
struct CpuLoops {
  bf16::Loops loops;
  MatmulPrecision highest = MatmulPrecision::medium;
};
CpuLoops loops_of_cpu() {
  CpuLoops out;
  const InstructionSet set = instruction_set();
#ifdef NINE_DISPATCH
  if (set == InstructionSet::avx512_bf16) cpu::avx512_bf16::install(out.loops);
  if (set == InstructionSet::amx) {
    cpu::amx::install(out.loops);
    out.highest = MatmulPrecision::highest;
  }
#endif
  if (setting() == "pairs") {
    require(set != InstructionSet::amx,
            "NINE_BF16_TILES=pairs: this CPU has tiles, which are faster; for pairs, also set "
            "NINE_ISA=avx512_bf16");
    if (out.loops.multiply == nullptr) {
      const bf16::Loops* const by_fma = bf16::pairs_by_fma();
      require(by_fma != nullptr, "NINE_BF16_TILES=pairs: this build is for CPUs without AVX2");
      out.loops = *by_fma;
    }
    out.highest = MatmulPrecision::highest;
  }
  return out;
}

}  // namespace

MatmulPrecision matmul_precision() { return precision; }
void set_matmul_precision(MatmulPrecision p) { precision = p; }

namespace bf16 {

std::span<const PiecePair> pairs_of(int pieces) {
  static const std::vector<PiecePair> all_of_three = [] {
    std::vector<PiecePair> pairs(std::begin(kSmallOfThree), std::end(kSmallOfThree));
    pairs.push_back(kLargest[0]);
    return pairs;
  }();
  if (pieces == 3) return all_of_three;
  if (pieces == 2) return kAllOfTwo;
  return kLargest;
}

int pieces_on_gpu() {
  const char* text = std::getenv("NINE_CUDA_PIECES");
  MatmulPrecision most = MatmulPrecision::high;
  if (text != nullptr && *text != 0) {
    const std::vector<std::string> names = enum_names<MatmulPrecision>();
    const auto found = std::find(names.begin(), names.end(), text);
    require(found != names.end(), "NINE_CUDA_PIECES=", text, ": must be highest, high or medium");
    most = static_cast<MatmulPrecision>(found - names.begin());
  }
  return precision >= most ? pieces_of(precision) : 0;
}

const Loops* loops() {
  static const CpuLoops of_cpu = loops_of_cpu();
  if (loops_wanted() != nullptr) return loops_wanted();
  return of_cpu.loops.multiply != nullptr && precision >= of_cpu.highest ? &of_cpu.loops : nullptr;
}

std::string_view loops_asked_for() {
  const Loops* const now = loops();
  if (now == &emulation()) return "bfloat16 tiles emulated";
  const bool usual =
      instruction_set() == InstructionSet::avx512_bf16 && precision == MatmulPrecision::medium;
  return now != nullptr && setting() == "pairs" && !usual ? "pairs of bfloat16" : "";
}

void use_loops(const Loops* wanted) { loops_wanted() = wanted; }

// A product of k terms is below 2^(a + 1) 2^(b + 1) k for exponents a and b, and each intermediate
// sum of pieces is below twice that.
bool fits(uint32_t left_largest, uint32_t right_largest, int64_t k) {
  constexpr uint32_t kRoundsToInfinity = 0x7f7f8000;  // (2 - 2^-8) 2^127
  if (left_largest >= kRoundsToInfinity || right_largest >= kRoundsToInfinity) return false;
  const int a = static_cast<int>(left_largest >> 23) - 127,
            b = static_cast<int>(right_largest >> 23) - 127;
  const auto width =
      static_cast<int>(std::bit_width(static_cast<uint64_t>(k)));  // unsigned in GCC 12
  return a + b + 3 + width <= 127;
}

namespace {

float element(const Factor& f, int64_t i, int64_t k) {
  return f.scale * (f.contiguous_terms ? f.x[i * f.ld + k] : f.x[k * f.ld + i]);
}

uint32_t largest(const Factor& f, int64_t i, int64_t k) {
  uint32_t out = 0;
  for (int64_t t = 0; t < k; ++t)
    out = std::max(out, std::bit_cast<uint32_t>(element(f, i, t)) & 0x7fffffffU);
  return out;
}

// Handles the rare large numbers. An element's row and column alone decide how it is computed: from
// the pieces if both fit, and otherwise one FMA after another.
void multiply_large(const Product& p, const Loops& by) {
  std::vector<float> before;
  for (int64_t i = 0; p.add && i < p.m; ++i)
    before.insert(before.end(), p.c + i * p.ldc, p.c + i * p.ldc + p.n);
  by.multiply(p);
  std::vector<uint32_t> columns;
  for (int64_t j = 0; j < p.n; ++j) columns.push_back(largest(p.right.source, j, p.k));
  for (int64_t i = 0; i < p.m; ++i) {
    const uint32_t row = largest(p.left.source, i, p.k);
    for (int64_t j = 0; j < p.n; ++j) {
      if (fits(row, columns[static_cast<size_t>(j)], p.k)) continue;
      float sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum = std::fma(element(p.left.source, i, k), element(p.right.source, j, k), sum);
      p.c[i * p.ldc + j] = p.add ? before[static_cast<size_t>(i * p.n + j)] + sum : sum;
    }
  }
}

}  // namespace

void multiply(const Product& p, const Loops& by) {
  if (fits(p.left.largest, p.right.largest, p.k)) {
    by.multiply(p);
  } else {
    multiply_large(p, by);
  }
}

}  // namespace bf16
}  // namespace nine
