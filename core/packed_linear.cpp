#include "core/packed_linear.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/bf16_gemm.h"
#include "core/bf16_product.h"
#include "core/elementwise_loops.h"
#include "core/gemm.h"
#include "core/row_loops.h"
#include "core/scratch.h"

namespace nine {

template <class T>
PackedLinear<T>::PackedLinear(const View& w, const View& bias)
    : in_(w.cols()), out_(w.rows()), w_(w), bias_(bias ? Tensor({out_}, dtype_of<T>) : Tensor()) {
  require(w.dtype == dtype_of<T> && w.device == kCpu, "[PackedLinear] weights must be ",
          dtype_of<T>, " on the CPU");
  if (bias) std::copy_n(bias.as<T>(), out_, bias_.data<T>());
  if (std::is_same_v<T, float> && bf16::in_pieces(out_, in_)) {
    pack_pieces();
  } else {
    pack_panels();
  }
}

template <class T>
void PackedLinear<T>::pack_panels() {
  packed_ = Tensor({out_ * in_}, dtype_of<T>);
  parallel_for(
      panels(),
      [&](int64_t p) {
        transpose_tile(cpu::row_ptr<T>(w_, p * kPanel), w_.ld, width(p), in_,
                       packed_.data<T>() + p * kPanel * in_, width(p));
      },
      static_cast<double>(4 * in_ * out_));
}

// Pieces.

namespace {

constexpr int64_t kRowsPacked = 4 * bf16::kGroup;  // rows packed by one task

// Returns the place of the tiles of row or column i, which begins a group.
uint16_t* tiles_of(const bfloat16* pieces, const bf16::Layout& layout, int64_t i) {
  static_assert(sizeof(bfloat16) == sizeof(uint16_t));
  return reinterpret_cast<uint16_t*>(const_cast<bfloat16*>(pieces)) +
         i / bf16::kGroup * layout.group_stride;
}

}  // namespace

template <class T>
void PackedLinear<T>::pack_pieces() {
  if constexpr (std::is_same_v<T, float>) {
    static_assert(kPanel % bf16::kGroup == 0);
    loops_ = bf16::loops();
    pieces_ = bf16::pieces_of(matmul_precision());
    const bf16::Layout layout = bf16::layout_of(in_, pieces_);
    packed_ = Tensor({bf16::packed_size(out_, in_, pieces_)}, DType::bfloat16);
    largest_.resize(static_cast<size_t>(panels()));
    parallel_for(
        panels(),
        [&](int64_t p) {
          largest_[static_cast<size_t>(p)] =
              loops_->pack_right({.x = cpu::row_ptr<T>(w_, p * kPanel), .ld = w_.ld}, width(p), in_,
                                 layout, tiles_of(packed_.data<bfloat16>(), layout, p * kPanel));
        },
        static_cast<double>(8 * in_ * out_));
  }
}

template <class T>
int64_t PackedLinear<T>::piece_numbers(int64_t rows) const {
  return bf16::packed_size(rows, in_, pieces_);
}

template <class T>
typename PackedLinear<T>::Rows PackedLinear<T>::rows(const T* x, int64_t ldx, int64_t rows,
                                                     bfloat16* pieces) const {
  if constexpr (std::is_same_v<T, float>)
    if (loops_ != nullptr) {
      const bf16::Layout layout = bf16::layout_of(in_, pieces_);
      const int64_t tasks = (rows + kRowsPacked - 1) / kRowsPacked;
      uint32_t* largest = scratch<uint32_t>(Scratch::reduction, tasks + 1);
      largest[tasks] = 0;  // of no rows
      parallel_for(
          tasks,
          [&](int64_t task) {
            const int64_t first = task * kRowsPacked;
            largest[task] = loops_->pack_left({.x = x + first * ldx, .ld = ldx},
                                              std::min(kRowsPacked, rows - first), in_, layout,
                                              tiles_of(pieces, layout, first));
          },
          static_cast<double>(8 * in_ * rows));
      return {x, ldx, rows, pieces, *std::max_element(largest, largest + tasks + 1)};
    }
  return {x, ldx, rows};
}

template <class T>
void PackedLinear<T>::multiply(int64_t panel, const Rows& x, T* y, int64_t ldy, bool add) const {
  const int64_t columns = width(panel);
  if constexpr (std::is_same_v<T, float>)
    if (loops_ != nullptr) {
      const bf16::Layout layout = bf16::layout_of(in_, pieces_);
      return bf16::multiply(
          {.left = {tiles_of(x.pieces, layout, 0), layout, x.largest, {.x = x.x, .ld = x.ld}},
           .right = {tiles_of(packed_.data<bfloat16>(), layout, panel * kPanel),
                     layout,
                     largest_[static_cast<size_t>(panel)],
                     {.x = cpu::row_ptr<T>(w_, panel * kPanel), .ld = w_.ld}},
           .m = x.count,
           .n = columns,
           .k = in_,
           .c = y,
           .ldc = ldy,
           .add = add},
          *loops_);
    }
  // A product of fewer rows has the same bits, and reads the panel at the same speed for one row.
  const T* w = packed_.data<T>() + panel * kPanel * in_;
  const auto multiply = [&](int64_t first, int64_t rows, int64_t at_once) {
    if (rows == 0) return;
    const TileProduct<T> product(columns, at_once, in_, columns, x.ld, ldy, add);
    for (int64_t r = first; r < first + rows; r += at_once) product(w, x.x + r * x.ld, y + r * ldy);
  };
  const int64_t rest = x.count % kRows, whole = x.count - rest;
  multiply(0, whole, kRows);
  multiply(whole, rest, rest);
}

template <class T>
void PackedLinear<T>::operator()(const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                                 LinearMode mode) const {
  const auto& loops = cpu::row_loops<T>();
  const T low = mode == LinearMode::relu ? T(0) : -std::numeric_limits<T>::infinity();
  const int64_t numbers = piece_numbers(rows);
  const Rows left = this->rows(
      x, ldx, rows, numbers > 0 ? scratch<bfloat16>(Scratch::packed_left, numbers) : nullptr);
  parallel_for(
      panels(),
      [&](int64_t p) {
        T* out = y + p * kPanel;
        multiply(p, left, out, ldy, mode == LinearMode::add);
        if (!bias_ && mode != LinearMode::relu) return;
        const T* bias = bias_ ? bias_.data<T>() + p * kPanel : nullptr;
        for (int64_t r = 0; r < rows; ++r) loops.add_bias(out + r * ldy, bias, width(p), low);
      },
      static_cast<double>(2 * rows) * static_cast<double>(in_ * out_));
}

template class PackedLinear<float>;
template class PackedLinear<double>;

}  // namespace nine
