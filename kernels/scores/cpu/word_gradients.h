// Computes the softmax's gradient with respect to the scores of one word and a panel's rows. The
// loops of all kernels share it.
#pragma once

#include "core/vmath.h"
#include "kernels/scores/cpu/head_loops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Computes up = dL/dS of one word; 0 in the rows whose target is the word.
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
