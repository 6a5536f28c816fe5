#include "kernels/options/smoothing.h"

#include <algorithm>

#include "core/error.h"

namespace nine {

double LabelSmoothing::spread(int64_t words) const {
  require(epsilon >= 0 && epsilon <= 1, "[kernel_softmax] label smoothing must be in [0, 1], not ",
          epsilon);
  if (epsilon == 0 || kind == Kind::uniform)
    return epsilon / static_cast<double>(std::max<int64_t>(1, words));
  require(words > 1,
          "[kernel_softmax] label smoothing over the other words ('others') needs a vocabulary of "
          "two words or more; use 'uniform'");
  return epsilon / static_cast<double>(words - 1);
}

}  // namespace nine
