// A linear layer for decoding: its weights are packed once and then multiplied with a few rows at a
// time, many times.
#pragma once

#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace nine {

namespace bf16 {
struct Loops;
}

/// y = x W' + b for fixed W (out, in) and b (out). W is held in panels of kPanel outputs. Where
/// this process makes products of float32 of bfloat16 pieces (core/bf16_product.h) when the layer
/// is made, and W is no smaller than a tile of these, a panel is such pieces, and the results have
/// the bits of gemm(). Otherwise it is as TileProduct needs it, and rows of x are multiplied kRows
/// at a time. Either way a row's result does not depend on how many others there are.
template <class T>
class PackedLinear {
 public:
  static constexpr int64_t kPanel = 64, kRows = 5;
  /// `rows` rounded up to a multiple of kRows.
  static int64_t padded(int64_t rows) { return (rows + kRows - 1) / kRows * kRows; }

  PackedLinear() = default;
  /// w (out, in), which must outlive the layer, and bias (out) or an empty view, which is copied;
  /// on the CPU and of type T.
  explicit PackedLinear(const View& w, const View& bias = {});

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  /// The number of panels, and how many outputs a panel has.
  int64_t panels() const { return (out_ + kPanel - 1) / kPanel; }
  int64_t width(int64_t panel) const {
    return panel + 1 < panels() ? kPanel : out_ - panel * kPanel;
  }

  /// What is stored: y = value, y = max(0, value) or y += value.
  enum class Mode : uint8_t { plain, relu, add };
  /// Multiplies x (rows, in) into y (rows, out), whose rows r begin at x + r * ldx and y + r * ldy.
  /// Both must have memory for padded(rows) rows: the rows after the last one are read and
  /// overwritten.
  void operator()(const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                  Mode mode = Mode::plain) const;

  /// Rows of x prepared for multiply(), by reference to x and to their pieces.
  struct Rows {
    const T* x = nullptr;
    int64_t ld = 0, count = 0;
    const bfloat16* pieces = nullptr;  ///< null where panels are not pieces
    uint32_t largest = 0;              ///< of all |x|, as the bits of a float32
  };
  /// The pieces of so many rows, for which rows() needs memory; 0 where panels are not pieces.
  int64_t piece_numbers(int64_t rows) const;
  /// Packs x (rows, in) into `pieces` on all threads, where panels are pieces.
  Rows rows(const T* x, int64_t ldx, int64_t rows, bfloat16* pieces) const;
  /// Multiplies them for the outputs of one panel, [panel * kPanel, panel * kPanel + width(panel)),
  /// without bias and on this thread. y begins at the panel's first output.
  void multiply(int64_t panel, const Rows& x, T* y, int64_t ldy, bool add = false) const;

 private:
  void pack_panels();
  void pack_pieces();

  int64_t in_ = 0, out_ = 0;
  View w_;
  Tensor packed_;  // [panel][in][kPanel], the last panel [in][its width]; or the pieces
  Tensor bias_;    // (out), or empty
  const bf16::Loops* loops_ = nullptr;  // null: panels are not pieces
  int pieces_ = 0;
  std::vector<uint32_t> largest_;  // of each panel of pieces, as in Rows
};

}  // namespace nine
