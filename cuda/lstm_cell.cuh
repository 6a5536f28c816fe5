// The formulas of one hidden unit of an LSTM at one time step (ops::Lstm), for the kernels of
// cuda/lstm.cu and cuda/lstm_loop.cu.
#pragma once

#include "core/vmath.h"
#include "cuda/launch.cuh"

namespace nine::cuda {

/// A unit's four gates, or their gradients, in the order in which they lie in a row.
template <class T>
struct LstmGates {
  T in, forget, candidate, out;
  /// From the first of four numbers that lie `apart` from one another.
  NINE_D static LstmGates load(const T* first, int64_t apart) {
    return {first[0], first[apart], first[2 * apart], first[3 * apart]};
  }
  NINE_D void store(T* first, int64_t apart) const {
    first[0] = in;
    first[apart] = forget;
    first[2 * apart] = candidate;
    first[3 * apart] = out;
  }
  NINE_D LstmGates operator+(const LstmGates& b) const {
    return {in + b.in, forget + b.forget, candidate + b.candidate, out + b.out};
  }
};

template <class T>
struct LstmState {
  T c, h;
};
/// The new state; the arguments of the gates' non-linearities become their values.
template <class T>
NINE_D LstmState<T> lstm_cell(LstmGates<T>& gates, T c_before) {
  gates = {vsigmoid(gates.in), vsigmoid(gates.forget), vtanh(gates.candidate), vsigmoid(gates.out)};
  const T c = gates.forget * c_before + gates.in * gates.candidate;
  return {c, gates.out * vtanh(c)};
}

/// The gradients of the non-linearities' arguments, from the gates' values, the cell before and
/// after the step, and dL/dh; dc, dL/dc of what follows, becomes that of c_before.
template <class T>
NINE_D LstmGates<T> lstm_cell_backward(const LstmGates<T>& gates, T c_before, T c, T dh, T& dc) {
  const T tc = vtanh(c), d = dc + dh * gates.out * (T(1) - tc * tc);
  dc = d * gates.forget;
  return {d * gates.candidate * gates.in * (T(1) - gates.in),
          d * c_before * gates.forget * (T(1) - gates.forget),
          d * gates.in * (T(1) - gates.candidate * gates.candidate),
          dh * tc * gates.out * (T(1) - gates.out)};
}

}  // namespace nine::cuda
