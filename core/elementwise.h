// The formulas of the elementwise ops, shared by CPU and CUDA: one struct for each function, and
// visit(), which picks the struct once, outside of the loop over elements.
#pragma once

#include <cmath>

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::ops {

// Functions of one number: value(x) is y, and derivative(x, y) is dy/dx.
struct Neg {
  template <class T>
  NINE_HD static T value(T x) {
    return -x;
  }
  template <class T>
  NINE_HD static T derivative(T, T) {
    return T(-1);
  }
};
struct Exp {
  template <class T>
  NINE_HD static T value(T x) {
    return vexp(x);
  }
  template <class T>
  NINE_HD static T derivative(T, T y) {
    return y;
  }
};
struct Log {
  template <class T>
  NINE_HD static T value(T x) {
    return vlog(x);
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    return T(1) / x;
  }
};
struct Tanh {
  template <class T>
  NINE_HD static T value(T x) {
    return vtanh(x);
  }
  template <class T>
  NINE_HD static T derivative(T, T y) {
    return T(1) - y * y;
  }
};
struct Sigmoid {
  template <class T>
  NINE_HD static T value(T x) {
    return vsigmoid(x);
  }
  template <class T>
  NINE_HD static T derivative(T, T y) {
    return y * (T(1) - y);
  }
};
struct Relu {
  template <class T>
  NINE_HD static T value(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    return x > T(0) ? T(1) : T(0);
  }
};
struct Square {
  template <class T>
  NINE_HD static T value(T x) {
    return x * x;
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    return T(2) * x;
  }
};
struct Sqrt {
  template <class T>
  NINE_HD static T value(T x) {
    return std::sqrt(x);
  }
  template <class T>
  NINE_HD static T derivative(T, T y) {
    return T(0.5) / y;
  }
};
struct Abs {
  template <class T>
  NINE_HD static T value(T x) {
    return std::abs(x);
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  }
};

// The factor of x in gelu and gelu_tanh is 0 for x < -kGeluEnd (in double from -38 and -21 on), so
// -kGeluEnd replaces any smaller x. -infinity then gives the limit -0 instead of -infinity * 0 =
// NaN. Derivatives limit x on both sides for the same reason.
inline constexpr int kGeluEnd = 40;

// x Phi(x), where Phi(x) is the probability that a number drawn from N(0, 1) is below x.
struct Gelu {
  template <class T>
  NINE_HD static T value(T x) {
    return (x < T(-kGeluEnd) ? T(-kGeluEnd) : x) * vnormal(x).below;
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    const T at = vmath_detail::clamp(x, T(-kGeluEnd), T(kGeluEnd));
    const Normal<T> n = vnormal(at);
    return n.below + at * n.density;
  }
};
// x s with s = (1 + tanh(z)) / 2, z = sqrt(2/pi) (x + 0.044715 x^3). s equals sigmoid(2 z), which
// for z < 0 does not subtract two numbers close to 1.
struct GeluTanh {
  template <class T>
  NINE_HD static T twice_z(T x) {
    return x * (T(kSlope) + T(kSlope * kCube) * (x * x));
  }
  template <class T>
  NINE_HD static T value(T x) {
    return (x < T(-kGeluEnd) ? T(-kGeluEnd) : x) * vsigmoid(twice_z(x));
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    const T at = vmath_detail::clamp(x, T(-kGeluEnd), T(kGeluEnd)), z = twice_z(at);
    // s (1 - s) = e / (1 + e)^2: 1 - s by itself would have no digits where s is close to 1.
    const T e = vexp(z > T(0) ? -z : z), r = T(1) / (T(1) + e), s = (z > T(0) ? T(1) : e) * r;
    return s + at * (T(kSlope) + T(3 * kSlope * kCube) * (at * at)) * (e * r * r);
  }

 private:
  static constexpr double kSlope = 1.5957691216057307118, kCube = 0.044715;  // 2 sqrt(2/pi)
};

// x s with s = sigmoid(x). From -kSiluEnd on s is 0 in double, so that -infinity gives -0.
inline constexpr int kSiluEnd = 800;
struct Silu {
  template <class T>
  NINE_HD static T value(T x) {
    return (x < T(-kSiluEnd) ? T(-kSiluEnd) : x) * vsigmoid(x);
  }
  template <class T>
  NINE_HD static T derivative(T x, T) {
    const T at = vmath_detail::clamp(x, T(-kSiluEnd), T(kSiluEnd));
    // s (1 - s) = e / (1 + e)^2, as in GeluTanh.
    const T e = vexp(at > T(0) ? -at : at), r = T(1) / (T(1) + e), s = (at > T(0) ? T(1) : e) * r;
    return s + at * (e * r * r);
  }
};

/// Calls body(Neg{}), body(Exp{}), ...: the struct of `f`.
template <class F>
void visit(Unary f, F&& body) {
  switch (f) {
    case Unary::neg:
      return body(Neg{});
    case Unary::exp:
      return body(Exp{});
    case Unary::log:
      return body(Log{});
    case Unary::tanh:
      return body(Tanh{});
    case Unary::sigmoid:
      return body(Sigmoid{});
    case Unary::relu:
      return body(Relu{});
    case Unary::square:
      return body(Square{});
    case Unary::sqrt:
      return body(Sqrt{});
    case Unary::abs:
      return body(Abs{});
    case Unary::gelu:
      return body(Gelu{});
    case Unary::gelu_tanh:
      return body(GeluTanh{});
    case Unary::silu:
      return body(Silu{});
  }
}

// Functions of two numbers.
struct Add {
  template <class T>
  NINE_HD static T value(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  NINE_HD static T value(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  NINE_HD static T value(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  NINE_HD static T value(T a, T b) {
    return a / b;
  }
};

/// Calls body(Add{}), body(Sub{}), ...: the struct of `f`.
template <class F>
void visit(Binary f, F&& body) {
  switch (f) {
    case Binary::add:
      return body(Add{});
    case Binary::sub:
      return body(Sub{});
    case Binary::mul:
      return body(Mul{});
    case Binary::div:
      return body(Div{});
  }
}

}  // namespace nine::ops
