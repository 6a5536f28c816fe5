// The formulas of the elementwise ops, shared by CPU and CUDA: one struct for each function, and
// visit(), which picks the struct once, outside of the loop over elements.
#pragma once

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
