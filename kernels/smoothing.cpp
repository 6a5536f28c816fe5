#include "kernels/smoothing.h"

#include <algorithm>

#include "core/error.h"

namespace nine {

double LabelSmoothing::spread(int64_t words) const {
  require(epsilon >= 0 && epsilon <= 1, "[kernel_softmax] label smoothing must be in [0, 1], not ",
          epsilon);
  if (epsilon == 0 || kind == Kind::uniform)
    return epsilon / static_cast<double>(std::max<int64_t>(1, words));
  require(words > 1,
          "[kernel_softmax] label smoothing over the other words ('others') needs a second word; "
          "use 'uniform'");
  return epsilon / static_cast<double>(words - 1);
}

std::string to_text(LabelSmoothing::Kind kind) {
  return kind == LabelSmoothing::Kind::uniform ? "uniform" : "others";
}

LabelSmoothing::Kind smoothing_from_text(std::string_view name) {
  if (name == "uniform") return LabelSmoothing::Kind::uniform;
  if (name == "others") return LabelSmoothing::Kind::others;
  throw UsageError(concat("--smoothing ", name, ": uniform or others"));
}

}  // namespace nine
