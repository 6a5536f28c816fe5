#include "core/misfit.h"

#include <cmath>
#include <limits>

namespace nine {

std::string misfit(double x, DType type) {
  return dispatch_float(type, "misfit", [&]<class T>(T) -> std::string {
    using Limits = std::numeric_limits<T>;
    // Not a conversion to T, which is undefined beyond its numbers.
    if (!(std::fabs(x) <= static_cast<double>(Limits::max())))
      return concat("is too large for ", type, ", whose largest number is ", Limits::max());
    if (x != 0 && std::fabs(x) < static_cast<double>(Limits::min()))
      return concat("is too small for ", type, ", whose least number above 0 is ", Limits::min());
    return {};
  });
}

}  // namespace nine
