// Functions that compute element by element, of one and of two tensors; core/elementwise_list.h
// lists them.
#include <algorithm>
#include <cmath>

#include "autograd/arrays.h"
#include "autograd/broadcast.h"
#include "core/array_ops.h"

namespace nine {

Var constant_like(const char* name, const Var& x, Number n, const Shape& shape) {
  Tape& tape = x.tape();
  const DType type = x.dtype();
  const auto filled = [&](const Shape& s) {
    const Var y = tape.result("constant", s, type, {});
    ops::fill(y.value(), n.value());
    return y;
  };
  if (is_float(type)) return filled(shape);
  require(n.is_whole(), "[", name, "] the number ", n.value(), " has no place in a tensor of ",
          type, ": cast() the tensor to float64");
  const int64_t whole = n.whole();
  const bool fits = type == DType::int64 ||
                    (type == DType::int32 && whole == static_cast<int32_t>(whole)) || whole == 0 ||
                    whole == 1;
  require(fits, "[", name, "] the number ", whole, " has no place in a tensor of ", type,
          ": cast() the tensor to int64");
  constexpr int64_t kExact = int64_t{1} << 53;  // as a double, which fill() takes
  if (whole >= -kExact && whole <= kExact) return filled({});
  return tape.constant(tape.on_device(Tensor::from<int64_t>({whole}, {})));
}

void same_types(const char* name, const Var& a, const Var& b) {
  require(a.dtype() == b.dtype(), "[", name, "] mixes ", a.dtype(), " and ", b.dtype(),
          ": cast() one");
}
void needs_floats(const char* name, const Var& x) {
  require(x.dtype() == DType::float32 || x.dtype() == DType::float64, "[", name,
          "] needs float32 or float64, got ", x.dtype(), ": cast() it");
}
void needs_numbers(const char* name, const Var& x) {
  require(is_integer(x.dtype()) || x.dtype() == DType::float32 || x.dtype() == DType::float64, "[",
          name, "] needs float32, float64, int32 or int64, got ", x.dtype(), ": cast() it");
}

namespace {

// The functions of one number that integers have, from functions that need no kernels of their own.
Var unary_of_integers(ops::Unary f, const char* name, const Var& x, double p, double q) {
  switch (f) {
    case ops::Unary::neg:
      return 0 - x;
    case ops::Unary::abs:
      return where(less(x, 0), -x, x);
    case ops::Unary::sign:
      return cast(greater(x, 0), x.dtype()) - cast(less(x, 0), x.dtype());
    case ops::Unary::square:
      return x * x;
    case ops::Unary::relu:
      return maximum(x, 0);
    case ops::Unary::clamp: {  // an infinite limit is none
      const Var low = p == -INFINITY ? x : maximum(x, constant_like(name, x, p));
      return q == INFINITY ? low : minimum(low, constant_like(name, x, q));
    }
    default:
      needs_floats(name, x);
  }
  return {};
}

Var unary(ops::Unary f, const char* name, const Var& x, double p = 0, double q = 0) {
  Tape& tape = x.tape();
  if (is_integer(x.dtype())) return unary_of_integers(f, name, x, p, q);
  needs_floats(name, x);
  const Var y = tape.result(name, x.shape(), x.dtype(), {x});
  ops::unary(f, x.value(), {y.value()}, p, q);
  return tape.record(y, [f, x, y, p, q] {
    ops::unary_backward(f, x.value(), y.value(), y.grad_output(), x.grad_input(), p, q);
  });
}

Var gated(ops::Unary f, const char* name, const Var& a, const Var& b) {
  Tape& tape = a.tape();
  const Var y = tape.result(name, a.shape(), a.dtype(), {a, b});
  ops::gated(f, a.value(), b.value(), y.value());
  return tape.record(y, [f, a, b, y] {
    // The order of the calls is that of the writes, as in layer_norm().
    const OutputView da = a.grad_input(), db = b.grad_input();
    ops::gated_backward(f, a.value(), b.value(), y.grad_output(), da, db);
  });
}

// True if x has `shape`, or is one row (rank 1) of it, or a scalar: ops::binary() takes these.
bool fits(const Shape& x, const Shape& shape) {
  return x == shape || x.rank() == 0 ||
         (x.rank() == 1 && shape.rank() > 1 && x.cols() == shape.cols());
}

Var binary(ops::Binary f, const char* name, const Var& a, const Var& b) {
  Tape& tape = a.tape();
  const Var y = tape.result(name, a.shape(), a.dtype(), {a, b});
  ops::binary(f, a.value(), b.value(), {y.value()});
  return y;
}

}  // namespace

#define NINE_DEFINE(NAME, ...) \
  Var NAME(const Var& x) { return unary(ops::Unary::NAME, #NAME, x); }
#define NINE_DEFINE_1(NAME, P, ...) \
  Var NAME(const Var& x, double P) { return unary(ops::Unary::NAME, #NAME, x, P); }
#define NINE_DEFINE_2(NAME, P, P_DEFAULT, Q, ...) \
  Var NAME(const Var& x, double P, double Q) { return unary(ops::Unary::NAME, #NAME, x, P, Q); }
NINE_FOR_EACH_UNARY(NINE_DEFINE, NINE_DEFINE_1, NINE_DEFINE_2)
#undef NINE_DEFINE
#undef NINE_DEFINE_1
#undef NINE_DEFINE_2
Var silu_gated(const Var& a, const Var& b) { return gated(ops::Unary::silu, "silu_gated", a, b); }
Var gelu_gated(const Var& a, const Var& b) { return gated(ops::Unary::gelu, "gelu_gated", a, b); }

Var scale(const Var& x, double alpha) {
  Tape& tape = x.tape();
  if (is_integer(x.dtype())) return mul(x, constant_like("scale", x, alpha));
  needs_floats("scale", x);
  const Var y = tape.result("scale", x.shape(), x.dtype(), {x});
  ops::scale(alpha, x.value(), {y.value()});
  return tape.record(y, [alpha, x, y] { ops::scale(alpha, y.grad_output(), x.grad_input()); });
}

namespace {

// The four functions of arithmetic for a b that fits a: quicker than the general function.
Var add_fitting(const Var& a, const Var& b) {
  const Var y = binary(ops::Binary::add, "add", a, b);
  return a.tape().record(y, [a, b, y] {
    if (a.needs_grad()) ops::scale(1, y.grad_output(), a.grad_input());
    if (b.needs_grad()) sum_into(b, y.grad_output());
  });
}

Var sub_fitting(const Var& a, const Var& b) {
  const Var y = binary(ops::Binary::sub, "sub", a, b);
  return a.tape().record(y, [a, b, y] {
    if (a.needs_grad()) ops::scale(1, y.grad_output(), a.grad_input());
    if (!b.needs_grad()) return;
    const Tensor negative = y.tape().arena().block(y.shape(), y.dtype());
    ops::scale(-1, y.grad_output(), {negative});
    sum_into(b, negative);
    y.tape().arena().free_block(negative);
  });
}

Var mul_fitting(const Var& a, const Var& b) {
  const Var y = binary(ops::Binary::mul, "mul", a, b);
  return a.tape().record(y, [a, b, y] {
    if (a.needs_grad()) ops::binary(ops::Binary::mul, y.grad_output(), b.value(), a.grad_input());
    if (!b.needs_grad()) return;
    const Tensor db = y.tape().arena().block(y.shape(), y.dtype());
    ops::binary(ops::Binary::mul, y.grad_output(), a.value(), {db});
    sum_into(b, db);
    y.tape().arena().free_block(db);
  });
}

Var div_fitting(const Var& a, const Var& b) {
  const Var y = binary(ops::Binary::div, "div", a, b);
  return a.tape().record(y, [a, b, y] {
    if (a.needs_grad()) ops::binary(ops::Binary::div, y.grad_output(), b.value(), a.grad_input());
    if (!b.needs_grad()) return;
    const Tensor db = y.tape().arena().block(y.shape(), y.dtype());
    ops::binary(ops::Binary::mul, y.grad_output(), y.value(), {db});
    ops::binary(ops::Binary::div, db, b.value(), {db});
    ops::scale(-1, db, {db});
    sum_into(b, db);
    y.tape().arena().free_block(db);
  });
}

Var binary_function(ops::Binary f, const char* name, const Var& a, const Var& b) {
  same_types(name, a, b);
  if (is_integer(a.dtype())) {
    if (f == ops::Binary::div || f == ops::Binary::pow) needs_floats(name, a);
    if (f == ops::Binary::maximum || f == ops::Binary::minimum) {
      const Shape shape = broadcast_shape(name, a.shape(), b.shape());
      const Var wide = broadcast_to(a, shape), other = broadcast_to(b, shape);
      const bool largest = f == ops::Binary::maximum;
      return where(largest ? greater(wide, other) : less(wide, other), wide, other);
    }
    return broadcast_binary(f, name, a, b);
  }
  needs_numbers(name, a);
  const bool fitting = fits(b.shape(), a.shape());
  if (fitting || fits(a.shape(), b.shape())) {
    if (f == ops::Binary::add) return fitting ? add_fitting(a, b) : add_fitting(b, a);
    if (f == ops::Binary::mul) return fitting ? mul_fitting(a, b) : mul_fitting(b, a);
    if (f == ops::Binary::sub) return sub_fitting(fitting ? a : broadcast_to(a, b.shape()), b);
    if (f == ops::Binary::div) return div_fitting(fitting ? a : broadcast_to(a, b.shape()), b);
  }
  return broadcast_binary(f, name, a, b);
}

}  // namespace

#define NINE_DEFINE(NAME, ...) \
  Var NAME(const Var& a, const Var& b) { return binary_function(ops::Binary::NAME, #NAME, a, b); }
NINE_FOR_EACH_BINARY(NINE_DEFINE)
#undef NINE_DEFINE

Var maximum(const Var& a, Number b) { return maximum(a, constant_like("maximum", a, b)); }
Var maximum(Number a, const Var& b) { return maximum(b, a); }
Var minimum(const Var& a, Number b) { return minimum(a, constant_like("minimum", a, b)); }
Var minimum(Number a, const Var& b) { return minimum(b, a); }
Var pow(Number a, const Var& b) { return pow(constant_like("pow", b, a, b.shape()), b); }

Var operator+(const Var& a, const Var& b) { return add(a, b); }
Var operator-(const Var& a, const Var& b) { return sub(a, b); }
Var operator*(const Var& a, const Var& b) { return mul(a, b); }
Var operator/(const Var& a, const Var& b) { return div(a, b); }
Var operator+(const Var& a, Number b) { return add(a, constant_like("add", a, b)); }
Var operator-(const Var& a, Number b) { return sub(a, constant_like("sub", a, b)); }
Var operator*(const Var& a, Number b) {
  return is_float(a.dtype()) ? scale(a, b.value()) : mul(a, constant_like("mul", a, b));
}
Var operator/(const Var& a, Number b) { return div(a, constant_like("div", a, b)); }
Var operator+(Number a, const Var& b) { return b + a; }
Var operator-(Number a, const Var& b) { return sub(constant_like("sub", b, a, b.shape()), b); }
Var operator*(Number a, const Var& b) { return b * a; }
Var operator/(Number a, const Var& b) { return div(constant_like("div", b, a, b.shape()), b); }
Var operator-(const Var& x) { return neg(x); }

}  // namespace nine
