// The steps from a word vector and a context to a kernel's score and its gradient, as formulas that
// WorkedExample::step computes. All steps come from the kernel's expression
// (kernels/expression/kernel_lines.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/scores/score.h"

namespace nine::app {

struct Step {
  std::string symbol, formula, rule;
};

/// The lines of one word. The symbols h and w with the word's subscript must be defined before. The
/// steps define S, dS/dw, dS/dh and dS/d(each learned number).
struct KernelSteps {
  std::vector<Step> context;  ///< lines that depend on the context alone, shown once
  std::vector<Step> forward, backward;
};

/// The subscripts of the symbols of a pair of vectors.
struct Subscripts {
  std::string word;          ///< of the word: "_1"
  int64_t component = 0;     ///< component of a mixture, from 1: S_2_1 is the score of word 1 in
                             ///< component 2; 0: no mixture
  bool own_context = false;  ///< true: component 2 has the context h_2, not h

  /// Returns "_2", or "" if there is no mixture.
  std::string of_component() const;
};

/// Returns the lines for vectors of `size` numbers. The context's own lines are the same for every
/// word.
KernelSteps kernel_steps(const Score& score, const Subscripts& names, size_t size);

}  // namespace nine::app
