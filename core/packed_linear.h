// A linear layer for decoding: its weights are packed once and then multiplied with a few rows at a
// time, many times.
#pragma once

#include "core/tensor.h"

namespace nine {

/// y = x W' + b for fixed W (out, in) and b (out). W is held in panels of kPanel outputs, as
/// TileProduct needs them. Rows of x are always multiplied kRows at a time, so that a row's result
/// does not depend on how many others there are.
template <class T>
class PackedLinear {
 public:
  static constexpr int64_t kPanel = 64, kRows = 5;
  /// `rows` rounded up to a multiple of kRows.
  static int64_t padded(int64_t rows) { return (rows + kRows - 1) / kRows * kRows; }

  PackedLinear() = default;
  /// w (out, in) and bias (out) or an empty view, on the CPU and of type T; they are copied.
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
  /// The same for the outputs of one panel, [panel * kPanel, panel * kPanel + width(panel)),
  /// without bias and on this thread. y begins at the panel's first output.
  void multiply(int64_t panel, const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                bool add = false) const;

 private:
  int64_t in_ = 0, out_ = 0;
  Tensor packed_;  // [panel][in][kPanel], the last panel [in][its width]
  Tensor bias_;    // (out), or empty
};

}  // namespace nine
