// How a kernel's score and its gradient follow from a word vector and a context, a line at a time:
// formulas that WorkedExample::step computes. All of them come from the kernel's expression
// (kernels/expression/kernel_lines.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/scores/score.h"

namespace nine::app {

struct Step {
  std::string symbol, formula, rule;
};

/// The lines of one word. The symbols h and w with the word's subscript are there before; the steps
/// define S, dS/dw, dS/dh and dS/d(each learned number).
struct KernelSteps {
  std::vector<Step> context;  ///< what follows from the context alone; once
  std::vector<Step> forward, backward;
};

/// What the symbols of a pair of vectors are called.
struct Subscripts {
  std::string word;          ///< of the word: "_1"
  int64_t component = 0;     ///< of a mixture, from 1 on: S_2_1 is word 1's in component 2; 0: none
  bool own_context = false;  ///< component 2 has the context h_2, not h

  /// "_2", or nothing.
  std::string of_component() const;
};

/// For vectors of `size` numbers. The context's own lines are the same for every word.
KernelSteps kernel_steps(const Score& score, const Subscripts& names, size_t size);

}  // namespace nine::app
