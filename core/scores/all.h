// The list of kernels: the one place, besides its own file, that a new kernel is named in.
#pragma once

#include "core/error.h"
#include "core/scores/lin.h"
#include "core/scores/rbf.h"

namespace nine::scores {

/// Calls f with each kernel's struct as a type: f.template operator()<Lin>(), ... in the order of ScoreKind.
template <class F>
void for_each_kernel(F&& f) {
  f.template operator()<Lin>();
  f.template operator()<Rbf>();
}

/// Calls f with the struct of the score's kind for vectors of d numbers, so that loops are compiled once a kernel and inlined.
template <class F>
void visit(const Score& score, int64_t d, F&& f) {
  bool found = false;
  for_each_kernel([&]<class K>() {
    if (!found && K::kKind == score.kind) {
      found = true;
      f(K(score, d));
    }
  });
  require(found, "[head] unknown score kind ", static_cast<int>(score.kind));
}

}  // namespace nine::scores
