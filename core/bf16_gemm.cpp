#include "core/bf16_gemm.h"

#include <algorithm>

#include "core/bf16_product.h"
#include "core/scratch.h"
#include "core/threads.h"

namespace nine::bf16 {
namespace {

constexpr int64_t kRows = 128;  // rows of C in a task: its packed left factor fits a core's cache
constexpr int64_t kColumns = 512;       // of C in a task
constexpr int64_t kPackColumns = 64;    // columns of the right factor that are packed together
constexpr int64_t kTermsAtOnce = 1024;  // terms packed at once; bounds the memory

// The right factor's terms [k0, k0 + terms), packed by all threads.
class PackedRight {
 public:
  PackedRight(const Gemm<float>& p, int64_t k0, int64_t terms, int pieces)
      : n_(p.n), terms_(terms), layout_(layout_of(terms, pieces)) {
    const int64_t parts = (n_ + kPackColumns - 1) / kPackColumns,
                  bits = (parts + 31) / 32 * 32 * 2;  // `largest_` in units of tiles_
    auto* memory = scratch<uint16_t>(Scratch::gemm_b, packed_size(n_, terms, pieces) + bits);
    largest_ = reinterpret_cast<uint32_t*>(memory);
    tiles_ = memory + bits;
    source_ = {.x = p.transpose_b ? p.b + k0 : p.b + k0 * p.ldb,
               .ld = p.ldb,
               .contiguous_terms = p.transpose_b,
               .scale = p.alpha};
    parallel_for(
        parts,
        [&](int64_t part) {
          const int64_t column = part * kPackColumns;
          largest_[part] = loops()->pack_right(source(column), std::min(kPackColumns, n_ - column),
                                               terms_, layout_, tiles(column));
        },
        8.0 * static_cast<double>(n_ * terms));
  }

  Packed columns(int64_t first, int64_t count) const {
    const uint32_t* from = largest_ + first / kPackColumns;
    const uint32_t* to = largest_ + (first + count + kPackColumns - 1) / kPackColumns;
    return {tiles(first), layout_, *std::max_element(from, to), source(first)};
  }

 private:
  uint16_t* tiles(int64_t column) const { return tiles_ + column / kGroup * layout_.group_stride; }
  Factor source(int64_t column) const {
    Factor f = source_;
    f.x += f.contiguous_terms ? column * f.ld : column;
    return f;
  }

  int64_t n_, terms_;
  Layout layout_;
  uint32_t* largest_ = nullptr;  // of each kPackColumns columns
  uint16_t* tiles_ = nullptr;
  Factor source_;
};

}  // namespace

bool in_pieces(int64_t n, int64_t k) { return n >= kGroup && k >= kDepth && loops() != nullptr; }

void gemm(const Gemm<float>& p) {
  const int pieces = pieces_of(matmul_precision());
  const int64_t row_blocks = (p.m + kRows - 1) / kRows,
                column_blocks = (p.n + kColumns - 1) / kColumns;
  for (int64_t k0 = 0; k0 < p.k; k0 += kTermsAtOnce) {
    const int64_t terms = std::min(kTermsAtOnce, p.k - k0);
    const PackedRight right(p, k0, terms, pieces);
    const Layout layout = layout_of(terms, pieces);
    const auto block = [&](int64_t task) {
      const int64_t row = task % row_blocks * kRows, column = task / row_blocks * kColumns,
                    rows = std::min(kRows, p.m - row), columns = std::min(kColumns, p.n - column);
      const Factor source{.x = p.transpose_a ? p.a + k0 * p.lda + row : p.a + row * p.lda + k0,
                          .ld = p.lda,
                          .contiguous_terms = !p.transpose_a};
      auto* tiles = scratch<uint16_t>(Scratch::packed_left, packed_size(kRows, terms, pieces));
      const uint32_t largest = loops()->pack_left(source, rows, terms, layout, tiles);
      multiply({.left = {tiles, layout, largest, source},
                .right = right.columns(column, columns),
                .m = rows,
                .n = columns,
                .k = terms,
                .c = p.c + row * p.ldc + column,
                .ldc = p.ldc,
                .add = p.add || k0 > 0});
    };
    parallel_for(row_blocks * column_blocks, block,
                 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(terms));
  }
}

}  // namespace nine::bf16
