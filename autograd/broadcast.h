// Functions of two numbers with broadcasting by NumPy's rule, and the checks of types that name the
// function that was called, for elementwise.cpp, functions.cpp and arrays.cpp.
#pragma once

#include "autograd/functions.h"
#include "core/ops.h"

namespace nine {

/// Computes f(a, b) for all shapes that can be broadcast to one, and its gradients. Messages call
/// the function `name`.
Var broadcast_binary(ops::Binary f, const char* name, const Var& a, const Var& b);

/// Writes b's gradient: `gradient`, contiguous and in the shape of a result, summed over the
/// elements that b was broadcast to.
void sum_into(const Var& b, const View& gradient);

/// Returns n as a constant of x's type: a scalar or, for a float type, of `shape`. Errors: those of
/// Number.
Var constant_like(const char* name, const Var& x, Number n, const Shape& shape = {});

constexpr bool is_integer(DType t) { return t == DType::int32 || t == DType::int64; }
/// Requires that a and b have one type.
void same_types(const char* name, const Var& a, const Var& b);
/// Requires float32 or float64.
void needs_floats(const char* name, const Var& x);
/// Requires float32, float64, int32 or int64.
void needs_numbers(const char* name, const Var& x);

}  // namespace nine
