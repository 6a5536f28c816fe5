// The list of score functions: the one line that a new kernel adds here is its case.
#pragma once

#include "core/error.h"
#include "core/scores/lin.h"

namespace nine::scores {

/// Calls f with the struct of the score's kind, so that loops are compiled once a kernel and inlined.
template <class F>
decltype(auto) visit(const Score& score, F&& f) {
  switch (score.kind) {
    case ScoreKind::lin:
      return f(Lin(score));
  }
  fail("[head] unknown score kind ", static_cast<int>(score.kind));
}

}  // namespace nine::scores
