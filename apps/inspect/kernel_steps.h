// How each kernel's score and its gradient follow from a word vector and a context, a line at a
// time: formulas that WorkedExample::step computes.
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

/// `word` is the subscript ("_1"), `w` and `h` the vectors' numbers, on which the case of a
/// formula depends (a point on the rim of hpb's ball). The context's own lines are the same for
/// every word.
KernelSteps kernel_steps(const Score& score, const std::string& word, const std::vector<double>& w,
                         const std::vector<double>& h);

}  // namespace nine::app
