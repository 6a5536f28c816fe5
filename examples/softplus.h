// A differentiable function of your own: softplus in plain C++, its value and its gradient side by
// side. nine::softplus is one line of core/elementwise_list.h. For tensors on the CPU.
#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"

namespace examples {

// The element in row r and column c. Rows are `ld` elements apart, which is more than a row's
// length when the view is some columns of a wider matrix.
template <class T>
T& at(const nine::View& v, int64_t r, int64_t c) {
  return v.as<T>()[r * v.ld + c];
}

/// y = ln(1 + e^x) for each element, any shape; dx = dy / (1 + e^-x).
inline nine::Var softplus(const nine::Var& x) {
  const nine::Var y = x.tape().result("softplus", x.shape(), x.dtype(), {x});
  nine::dispatch_float(x.dtype(), "softplus", [&]<class T>(T) {
    const nine::View in = x.value(), out = y.value();
    for (int64_t r = 0; r < in.rows(); ++r)
      for (int64_t c = 0; c < in.cols(); ++c) {
        const T v = at<T>(in, r, c);
        // ln(1 + e^v) in a form in which no exponential overflows.
        at<T>(out, r, c) = std::max(v, T(0)) + std::log1p(std::exp(-std::abs(v)));
      }
  });

  // The backward function. It captures Vars, which are small handles: their values are still in
  // memory when it runs.
  return x.tape().record(y, [x, y] {
    nine::dispatch_float(x.dtype(), "softplus", [&]<class T>(T) {
      const nine::View in = x.value(), dy = y.grad_output();
      const nine::View dx = x.zeroed_grad_input();  // add to it: x may be used elsewhere too
      for (int64_t r = 0; r < in.rows(); ++r)
        for (int64_t c = 0; c < in.cols(); ++c)
          at<T>(dx, r, c) += at<T>(dy, r, c) / (1 + std::exp(-at<T>(in, r, c)));
    });
  });
}

}  // namespace examples
