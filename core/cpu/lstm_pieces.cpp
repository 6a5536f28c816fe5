#include "core/cpu/lstm_pieces.h"

#include <algorithm>

#include "core/pool_array.h"

namespace nine::cpu {
inline namespace NINE_ISA {

RecurrentPieces::RecurrentPieces(int64_t steps, int64_t batch, int64_t terms, int64_t blocks,
                                 int64_t columns, Arena& arena)
    : terms_(terms),
      blocks_(blocks),
      columns_(columns),
      groups_(bf16::groups(batch)),
      layout_(bf16::layout_of(terms, bf16::pieces_of(matmul_precision()))),
      states_(pool_array<uint16_t>(arena, 2 * groups_ * layout_.group_stride)),
      weights_(pool_array<uint16_t>(arena, blocks * bf16::groups(columns) * layout_.group_stride)),
      state_largest_(pool_array<uint32_t>(arena, (steps + 1) * groups_ * blocks)),
      weight_largest_(pool_array<uint32_t>(arena, blocks)) {
  std::fill_n(state_largest_, (steps + 1) * groups_ * blocks, uint32_t{0});
  std::fill_n(weight_largest_, blocks, uint32_t{0});
}

void RecurrentPieces::pack_weights(int64_t block, int64_t column, const bf16::Factor& w,
                                   int64_t count) {
  const int64_t group = block * bf16::groups(columns_) + column / bf16::kGroup;
  const uint32_t largest =
      bf16::loops()->pack_right(w, count, terms_, layout_, weights_ + group * layout_.group_stride);
  weight_largest_[block] = std::max(weight_largest_[block], largest);
}

void RecurrentPieces::store(int64_t t, int64_t b0, int64_t rows, int64_t block, int64_t column,
                            const float* x, int64_t ld, int64_t count) {
  uint16_t* tiles = states_ + (t % 2 * groups_ + b0 / bf16::kGroup) * layout_.group_stride +
                    column / bf16::kDepth * layout_.block_stride;
  uint32_t& largest = largest_state(t, b0, block);
  largest =
      std::max(largest, bf16::loops()->pack_left({.x = x, .ld = ld}, rows, count, layout_, tiles));
}

void RecurrentPieces::multiply(int64_t t, int64_t b0, int64_t rows, const bf16::Factor& x,
                               int64_t block, int64_t column, const bf16::Factor& w, int64_t count,
                               float* c, int64_t ldc) const {
  const uint32_t* first = &largest_state(t, b0, 0);
  const uint32_t largest = *std::max_element(first, first + bf16::groups(rows) * blocks_);
  const int64_t group = block * bf16::groups(columns_) + column / bf16::kGroup;
  bf16::multiply(
      {.left = {states_ + (t % 2 * groups_ + b0 / bf16::kGroup) * layout_.group_stride, layout_,
                largest, x},
       .right = {weights_ + group * layout_.group_stride, layout_, weight_largest_[block], w},
       .m = rows,
       .n = count,
       .k = terms_,
       .c = c,
       .ldc = ldc});
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
