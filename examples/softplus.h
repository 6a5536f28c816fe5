// A differentiable function that Nine does not have: its value and its gradient side by side.
#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"

namespace examples {

// Row r, column c of a view: rows of a window on a wider tensor are `ld` elements apart.
template <class T>
T& at(const nine::View& v, int64_t r, int64_t c) {
  return static_cast<T*>(v.data)[r * v.ld + c];
}

/// y = ln(1 + e^x), any shape; dx = dy / (1 + e^-x).
inline nine::Var softplus(const nine::Var& x) {
  const nine::Var y = x.tape().result("softplus", x.shape(), x.dtype(), {x});
  nine::dispatch_float(x.dtype(), "softplus", [&]<class T>(T) {
    const nine::View in = x.value(), out = y.value();
    for (int64_t r = 0; r < in.rows(); ++r)
      for (int64_t c = 0; c < in.cols(); ++c) {
        const T v = at<T>(in, r, c);
        at<T>(out, r, c) =
            std::max(v, T(0)) + std::log1p(std::exp(-std::abs(v)));  // no overflow at either end
      }
  });

  // What backward runs. It captures handles only: x and y are still there when it is called.
  return x.tape().record(y, [x, y] {
    nine::dispatch_float(x.dtype(), "softplus", [&]<class T>(T) {
      const nine::View in = x.value(), dy = y.grad_output(),
                       dx = x.sink_zeroed();  // x may have other uses: add to dx
      for (int64_t r = 0; r < in.rows(); ++r)
        for (int64_t c = 0; c < in.cols(); ++c)
          at<T>(dx, r, c) += at<T>(dy, r, c) / (1 + std::exp(-at<T>(in, r, c)));
    });
  });
}

}  // namespace examples
