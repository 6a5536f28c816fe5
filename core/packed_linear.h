// A linear map packed once for products with a few rows at a time, again and again: decoding.
#pragma once

#include "core/tensor.h"

namespace nine {

/// y = x W' + b for one W (out, in), held in panels of kPanel outputs as the tile product takes
/// them. Rows are multiplied kRows at a time whatever their number, so a row's bits do not depend
/// on the others.
template <class T>
class PackedLinear {
 public:
  static constexpr int64_t kPanel = 64, kRows = 5;
  static int64_t padded(int64_t rows) { return (rows + kRows - 1) / kRows * kRows; }

  PackedLinear() = default;
  /// w (out, in), whose rows may lie further apart, and bias (out) or an empty view, on the CPU, of
  /// type T.
  explicit PackedLinear(const View& w, const View& bias = {});

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t panels() const { return (out_ + kPanel - 1) / kPanel; }
  int64_t width(int64_t panel) const {
    return panel + 1 < panels() ? kPanel : out_ - panel * kPanel;
  }

  enum class Mode : uint8_t { plain, relu, add };  ///< y = value, y = max(0, value), y += value
  /// Rows r of x and y begin at x + r * ldx and y + r * ldy. There must be memory for padded(rows)
  /// of both: rows past the last one are read and written, and mean nothing.
  void operator()(const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                  Mode mode = Mode::plain) const;
  /// One panel of that, outputs [panel * kPanel, + width(panel)), without bias, on this thread; y
  /// begins at the panel's first output.
  void multiply(int64_t panel, const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                bool add = false) const;

 private:
  int64_t in_ = 0, out_ = 0;
  Tensor packed_, bias_;  // [panel][in][kPanel], the last panel [in][width]
};

}  // namespace nine
