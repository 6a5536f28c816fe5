// The softmax's gradient by the scores of one word and a panel's rows, which the loops of every
// kernel share.
#pragma once

#include "core/vmath.h"
#include "kernels/scores/cpu/head_loops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// up = dL/dS of one word, but for the rows whose target it is: those have 0.
template <class T>
[[gnu::flatten, gnu::noinline]] inline void word_gradients(const T* s, const HeadLanes<T>& lanes,
                                                           typename HeadLanes<T>::Index word,
                                                           T* up) {
  const T *lse = lanes.lse, *lse_rest = lanes.lse_rest, *weight = lanes.weight,
          *shift = lanes.shift;
  const auto* target = lanes.target;
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const T p = vexp((s[r] - lse[r]) - lse_rest[r]);
    up[r] = target[r] == word ? T(0) : weight[r] * p - shift[r];
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
