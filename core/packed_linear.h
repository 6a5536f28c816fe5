// A linear layer for decoding: its weights are packed once and then multiplied many times with a
// few rows.
#pragma once

#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace nine {

namespace bf16 {
struct Loops;
}

/// How PackedLinear stores results: y = value, y = max(0, value) or y += value.
enum class LinearMode : uint8_t { plain, relu, add };

/// Computes y = x W' + b for fixed W (out, in) and b (out). W is held in panels of kPanel outputs.
/// A panel holds bfloat16 pieces if this process computes float32 products from pieces
/// (core/bf16_product.h) at the layer's construction and W is at least as large as their tile;
/// results then have the bits of gemm(). Otherwise a panel has the layout of TileProduct. In both
/// cases a row's result does not depend on the number of rows.
template <class T>
class PackedLinear {
 public:
  static constexpr int64_t kPanel = 64;

  PackedLinear() = default;
  /// Packs w (out, in), which must outlive the layer, and copies bias (out) or an empty view. Both
  /// are on the CPU and of type T.
  explicit PackedLinear(const View& w, const View& bias = {});

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  /// Returns the number of panels, and the number of outputs of a panel.
  int64_t panels() const { return (out_ + kPanel - 1) / kPanel; }
  int64_t width(int64_t panel) const {
    return panel + 1 < panels() ? kPanel : out_ - panel * kPanel;
  }

  /// Multiplies x (rows, in) into y (rows, out); row r begins at x + r * ldx and y + r * ldy.
  void operator()(const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                  LinearMode mode = LinearMode::plain) const;

  /// Rows of x for multiply(): pointers to x and to its pieces.
  struct Rows {
    const T* x = nullptr;
    int64_t ld = 0, count = 0;
    const bfloat16* pieces = nullptr;  ///< null if panels are not pieces
    uint32_t largest = 0;              ///< the largest |x|, as the bits of a float32
  };
  /// Returns how many numbers `pieces` of rows() must hold; 0 if panels are not pieces.
  int64_t piece_numbers(int64_t rows) const;
  /// Prepares x (rows, in) for multiply(). If panels are pieces, packs x into `pieces` on all
  /// threads.
  Rows rows(const T* x, int64_t ldx, int64_t rows, bfloat16* pieces) const;
  /// Multiplies the rows for the outputs of one panel, [panel * kPanel, panel * kPanel +
  /// width(panel)), without bias and on this thread. y begins at the panel's first output.
  void multiply(int64_t panel, const Rows& x, T* y, int64_t ldy, bool add = false) const;

 private:
  static constexpr int64_t kRows = 5;  // multiplied at a time

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
