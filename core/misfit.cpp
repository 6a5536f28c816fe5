#include "core/misfit.h"

#include <cmath>
#include <limits>

namespace nine {

std::string misfit(double x, DType type) {
  return dispatch_float(type, "misfit", [&]<class T>(T) -> std::string {
    using Limits = std::numeric_limits<T>;
    // Compares instead of converting to T, because a conversion beyond T's range is undefined.
    if (!(std::fabs(x) <= static_cast<double>(Limits::max())))
      return concat("is too large for ", type, ", whose largest number is ", Limits::max());
    if (x != 0 && std::fabs(x) < static_cast<double>(Limits::min()))
      return concat("is too small for ", type, ", whose smallest positive number is ",
                    Limits::min());
    return {};
  });
}

}  // namespace nine
