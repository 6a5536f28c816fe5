// The lists of all elementwise functions, comparisons and reductions: one line for each. The lists
// generate the enumerations (core/ops.h, core/array_ops.h), the formulas that the loops of both
// devices compile (core/elementwise.h, core/reductions.h), the differentiable functions
// (autograd/functions.h, autograd/arrays.h), their rows in the table of cases (checks/), and the
// tables of docs/library.md.
#pragma once

// clang-format off

// Lists the functions of one number: F(name, value, derivative, text, oracle, low, high). After the
// name, F1 has a parameter and its default; F2 has two parameters, each with its default. An empty
// default means that every call gives the parameter. `value` and `derivative` are expressions of
// type T, in which x is the argument and y the value; they may call core/vmath.h. `text` is for
// documentation. `oracle` computes the value in double by the plainest formula, for tests. The test
// cases draw x from [low, high) and use the parameters 0.3 and 1.2.
#define NINE_FOR_EACH_UNARY(F, F1, F2) \
  F(neg, -x, T(-1), "-x", -x, -1, 1) \
  F(exp, vexp(x), y, "e^x", std::exp(x), -3, 3) \
  F(log, vlog(x), T(1) / x, "ln x", std::log(x), 0.1, 5) \
  F(tanh, vtanh(x), T(1) - y * y, "hyperbolic tangent", std::tanh(x), -3, 3) \
  F(sigmoid, vsigmoid(x), y * (T(1) - y), "1 / (1 + e^-x)", 1 / (1 + std::exp(-x)), -3, 3) \
  F(relu, x < T(0) ? T(0) : x, x > T(0) ? T(1) : T(0), "max(x, 0)", x > 0 ? x : 0, -1, 1) \
  F(square, x * x, T(2) * x, "x^2", x * x, -2, 2) \
  F(sqrt, std::sqrt(x), T(0.5) / y, "square root; infinite slope at 0", std::sqrt(x), 0.1, 5) \
  F(abs, std::abs(x), x > T(0) ? T(1) : (x < T(0) ? T(-1) : T(0)), "absolute value; slope 0 at 0", \
    x < 0 ? -x : x, -1, 1) \
  F(gelu, gelu_value(x), gelu_slope(x), \
    "x Phi(x), with Phi of N(0, 1) (Hendrycks & Gimpel, 2016; PyTorch's gelu); -0 at -infinity", \
    0.5 * x * std::erfc(-x / std::sqrt(2.0)), -4, 4) \
  F(gelu_tanh, gelu_tanh_value(x), gelu_tanh_slope(x), \
    "x (1 + tanh(z)) / 2 with z = sqrt(2/pi) (x + 0.044715 x^3): GPT-2's gelu; -0 at -infinity", \
    0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))), -4, 4) \
  F(silu, silu_value(x), silu_slope(x), "x sigmoid(x) (Elfwing et al., 2018); -0 at -infinity", \
    x / (1 + std::exp(-x)), -4, 4) \
  F(sin, vsin(x), vcos(x), "sine; NaN for angles beyond 4.2e6 (float32), 2.3e15 (float64)", \
    std::sin(x), -7, 7) \
  F(cos, vcos(x), -vsin(x), "cosine; NaN for the same angles", std::cos(x), -7, 7) \
  F(log1p, vlog1p(x), T(1) / (T(1) + x), "ln(1 + x)", std::log1p(x), -0.5, 4) \
  F(expm1, vexpm1(x), y + T(1), "e^x - 1", std::expm1(x), -3, 3) \
  F(rsqrt, T(1) / std::sqrt(x), T(-0.5) * y / x, "1 / sqrt(x)", 1 / std::sqrt(x), 0.2, 5) \
  F(reciprocal, T(1) / x, -y * y, "1 / x", 1 / x, 0.2, 5) \
  F(sign, x > T(0) ? T(1) : (x < T(0) ? T(-1) : x), T(0), "-1, 0 or 1; slope 0", \
    (x > 0) - (x < 0), -1, 1) \
  F(floor, std::floor(x), T(0), "largest integer that is at most x; slope 0", std::floor(x), -4, 4) \
  F(ceil, std::ceil(x), T(0), "smallest integer that is at least x; slope 0", std::ceil(x), -4, 4) \
  F(round, std::rint(x), T(0), "nearest integer, ties to even; slope 0", std::nearbyint(x), -4, 4) \
  F(softplus, vsoftplus(x), vsigmoid(x), "ln(1 + e^x)", std::log(1 + std::exp(x)), -4, 4) \
  F1(pow, exponent, , std::pow(x, exponent), \
     exponent == T(0) ? T(0) : exponent * std::pow(x, exponent - T(1)), "x^exponent", \
     std::pow(x, exponent), 0.2, 3) \
  F1(leaky_relu, slope, = 0.01, x > T(0) ? x : slope * x, x > T(0) ? T(1) : slope, \
     "x, or slope x if x is negative", x > 0 ? x : slope * x, -1, 1) \
  F1(elu, alpha, = 1, x > T(0) ? x : alpha * vexpm1(x), x > T(0) ? T(1) : alpha * vexp(x), \
     "x, or alpha (e^x - 1) if x is negative (Clevert et al., 2016)", \
     x > 0 ? x : alpha * (std::exp(x) - 1), -3, 3) \
  F2(clamp, low, , high, , x < low ? low : (x > high ? high : x), \
     x < low || x > high ? T(0) : T(1), "x, but at least low and at most high; slope 0 outside", \
     std::fmin(std::fmax(x, low), high), -2, 2)

// Lists the functions of one number that ops::gated() takes.
#define NINE_FOR_EACH_GATE(F) F(sigmoid) F(relu) F(gelu) F(gelu_tanh) F(silu)

// Functions of two numbers a and b. F(name, value, da, db, text, oracle): da and db are dy/da and
// dy/db. The cases draw a from [0.5, 2) and b from [0.5, 2).
#define NINE_FOR_EACH_BINARY(F) \
  F(add, a + b, T(1), T(1), "a + b", a + b) \
  F(sub, a - b, T(1), T(-1), "a - b", a - b) \
  F(mul, a * b, b, a, "a b", a * b) \
  F(div, a / b, T(1) / b, -y / b, "a / b", a / b) \
  F(maximum, a > b || a != a ? a : b, a > b ? T(1) : (a == b ? T(0.5) : T(0)), \
    b > a ? T(1) : (a == b ? T(0.5) : T(0)), \
    "the larger number, or NaN; two equal numbers share the gradient", a > b ? a : b) \
  F(minimum, a < b || a != a ? a : b, a < b ? T(1) : (a == b ? T(0.5) : T(0)), \
    b < a ? T(1) : (a == b ? T(0.5) : T(0)), \
    "the smaller number, or NaN; two equal numbers share the gradient", a < b ? a : b) \
  F(pow, std::pow(a, b), b == T(0) ? T(0) : b * std::pow(a, b - T(1)), \
    a == T(0) && b > T(0) ? T(0) : y * std::log(a), "a^b; the slope in b is NaN if a is negative", \
    std::exp(b * std::log(a)))

// Lists the functions of two numbers that ops::broadcast_binary() computes for integers, modulo 2^32
// or 2^64.
#define NINE_FOR_EACH_INTEGER_BINARY(F) F(add) F(sub) F(mul)

// Comparisons, without a gradient. F(name, value, text)
#define NINE_FOR_EACH_COMPARISON(F) \
  F(equal, a == b, "true if a and b are equal") \
  F(not_equal, a != b, "true if a and b differ") \
  F(less, a < b, "true if a is below b") \
  F(less_equal, a <= b, "true if a is at most b") \
  F(greater, a > b, "true if a is above b") \
  F(greater_equal, a >= b, "true if a is at least b")

// Lists the functions of n numbers x, computed in double: F(name, shift, term, join, value,
// derivative, text). After the name, F1 has a parameter and its default. A first pass computes m: 0
// (`zero`), the mean of all x (`mean`), or the largest x (`top`). If the largest x is infinite,
// `top` is 0. A second pass computes `term` for each x and joins the terms to t. `plus` adds the
// terms; `highest` and `lowest` choose a term, or NaN if a term is NaN. `value` is the result y.
// `derivative` is dy/dx for one x. `derivative` may use y and `equals`, the number of all x that
// are equal to y.
#define NINE_FOR_EACH_REDUCTION(F, F1) \
  F(sum, zero, x, plus, t, 1.0, "sum") \
  F(mean, zero, x, plus, t / n, 1.0 / n, "mean") \
  F(max, zero, x, highest, t, x == y ? 1.0 / equals : 0.0, \
    "largest number, or NaN; equal numbers share the gradient") \
  F(min, zero, x, lowest, t, x == y ? 1.0 / equals : 0.0, \
    "smallest number, or NaN; equal numbers share the gradient") \
  F(norm, zero, x * x, plus, std::sqrt(t), y > 0.0 ? x / y : 0.0, \
    "square root of the sum of squares; slope 0 at 0") \
  F1(variance, correction, = 0, mean, (x - m) * (x - m), plus, t / (n - correction), \
     2.0 * (x - m) / (n - correction), "sum of (x - mean)^2, divided by n - correction") \
  F(logsumexp, top, vexp(x - m), plus, m + vlog(t), x == y ? 1.0 / equals : vexp(x - y), \
    "ln of the sum of e^x; no exponential overflows")

// clang-format on
