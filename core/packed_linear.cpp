#include "core/packed_linear.h"

#include <limits>

#include "core/cpu/elementwise_loops.h"
#include "core/cpu/row_loops.h"
#include "core/gemm.h"

namespace nine {

template <class T>
PackedLinear<T>::PackedLinear(const View& w, const View& bias)
    : in_(w.cols()),
      out_(w.rows()),
      packed_({out_ * in_}, dtype_of<T>),
      bias_(bias ? Tensor({out_}, dtype_of<T>) : Tensor()) {
  require(w.dtype == dtype_of<T> && w.device == kCpu, "[PackedLinear] weights must be ",
          dtype_of<T>, " on the CPU");
  parallel_for(
      panels(),
      [&](int64_t p) {
        transpose_tile(cpu::row_ptr<T>(w, p * kPanel), w.ld, width(p), in_,
                       packed_.data<T>() + p * kPanel * in_, width(p));
      },
      static_cast<double>(4 * in_ * out_));
  if (bias) std::copy_n(bias.as<T>(), out_, bias_.data<T>());
}

template <class T>
void PackedLinear<T>::multiply(int64_t panel, const T* x, int64_t ldx, int64_t rows, T* y,
                               int64_t ldy, bool add) const {
  const int64_t columns = width(panel);
  const T* w = packed_.data<T>() + panel * kPanel * in_;
  const TileProduct<T> product(columns, kRows, in_, columns, ldx, ldy, add);
  for (int64_t r = 0; r < rows; r += kRows) product(w, x + r * ldx, y + r * ldy);
}

template <class T>
void PackedLinear<T>::operator()(const T* x, int64_t ldx, int64_t rows, T* y, int64_t ldy,
                                 Mode mode) const {
  const auto& loops = cpu::row_loops<T>();
  const T low = mode == Mode::relu ? T(0) : -std::numeric_limits<T>::infinity();
  parallel_for(
      panels(),
      [&](int64_t p) {
        T* out = y + p * kPanel;
        multiply(p, x, ldx, rows, out, ldy, mode == Mode::add);
        if (!bias_ && mode != Mode::relu) return;
        const T* bias = bias_ ? bias_.data<T>() + p * kPanel : nullptr;
        const int64_t columns = width(p);
        for (int64_t r = 0; r < rows; ++r) loops.add_bias(out + r * ldy, bias, columns, low);
      },
      static_cast<double>(2 * rows) * static_cast<double>(in_ * out_));
}

template class PackedLinear<float>;
template class PackedLinear<double>;

}  // namespace nine
