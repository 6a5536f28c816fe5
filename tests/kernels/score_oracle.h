// Every score by the formulas of docs/heads.md, sections 1 to 3, in long double, sharing nothing
// with kernels/scores.
#pragma once

#include <string>
#include <vector>

#include "kernels/scores/score.h"

namespace nine::tests {

using Reals = std::vector<long double>;

/// S(w, h), without bias; hpb goes through the points of the unit ball.
long double dense_score(const Score& score, const Reals& w, const Reals& h);

/// Central differences of dense_score by w (of_h = false) or h.
Reals dense_gradient(const Score& score, Reals w, Reals h, bool of_h);

struct ScoreCase {
  std::string name;
  Score score;
  long dims;
};
/// Each kernel with its defaults, and with every option it has.
std::vector<ScoreCase> score_cases();

}  // namespace nine::tests
