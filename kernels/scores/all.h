// The list of kernels. A new kernel needs a file and a line here.
#pragma once

#include "core/error.h"
#include "kernels/expression/expr_score.h"
#include "kernels/scores/hpb.h"
#include "kernels/scores/lin.h"
#include "kernels/scores/log.h"
#include "kernels/scores/mog.h"
#include "kernels/scores/pol.h"
#include "kernels/scores/pow.h"
#include "kernels/scores/rbf.h"
#include "kernels/scores/sig.h"
#include "kernels/scores/ssg.h"
#include "kernels/scores/wav.h"

namespace nine::scores {

template <class... K>
struct List {};
// In the order of ScoreKind.
using Kernels = List<Lin, Log, Pow, Pol, Rbf, Ssg, Mog, Hpb, Wav, Sig>;

template <class... K>
constexpr bool distinct(List<K...>) {
  const ScoreKind kinds[] = {K::kKind...};
  for (size_t i = 0; i < sizeof...(K); ++i)
    for (size_t j = 0; j < i; ++j)
      if (kinds[i] == kinds[j]) return false;
  return true;
}
static_assert(distinct(Kernels{}), "two kernels have the same kKind");

/// Calls f with each kernel's struct as a type: f.template operator()<Lin>(), ... in the order of
/// ScoreKind.
template <class F>
void for_each_kernel(F&& f) {
  [&]<class... K>(List<K...>) { (f.template operator()<K>(), ...); }(Kernels{});
}

/// Calls f with the struct of the score's kind for vectors of d numbers, so that loops are compiled
/// and inlined for each kernel.
template <class F>
void visit(const Score& score, int64_t d, F&& f) {
  if (score.kind == ScoreKind::expr) return f(Expr(score, d));
  bool found = false;
  for_each_kernel([&]<class K>() {
    if (!found && K::kKind == score.kind) {
      found = true;
      f(K(score, d));
    }
  });
  require(found, "[head] unknown score kind ", static_cast<int>(score.kind));
}

/// Does the same for a component of a block, which may be ScaledLin.
template <class F>
void visit_component(const Score& score, int64_t d, F&& f) {
  if (score.kind == ScoreKind::scaled_lin) return f(ScaledLin(score, d));
  visit(score, d, f);
}

}  // namespace nine::scores
