// The C library's functions with a last place that is off by one, as another library's may be: the
// kernels of the strict build call these under their names in renamed.txt. 0 and 1 stay what they
// are: no library misses those.
#include <cmath>

namespace {

template <class T>
T off(T y) {
  if (y == 0 || y == 1 || !std::isfinite(y)) return y;
  int exponent = 0;
  const T mantissa = std::frexp(y, &exponent);
  const bool up = static_cast<long long>(std::ldexp(mantissa, 20)) % 2 == 0;  // some of both
  return std::nextafter(y, static_cast<T>(up ? HUGE_VAL : -HUGE_VAL));
}

}  // namespace

#define NINE_OFF(name)                                           \
  double nine_off_##name(double x) { return off(std::name(x)); } \
  float nine_off_##name##f(float x) { return off(std::name(x)); }

extern "C" {
NINE_OFF(exp)
NINE_OFF(expm1)
NINE_OFF(log)
NINE_OFF(log1p)
NINE_OFF(asinh)
NINE_OFF(atanh)
NINE_OFF(acosh)
NINE_OFF(acos)
NINE_OFF(asin)
NINE_OFF(atan)
NINE_OFF(erf)
NINE_OFF(sin)
NINE_OFF(cos)
NINE_OFF(tan)
NINE_OFF(cbrt)
NINE_OFF(exp2)
NINE_OFF(log2)
NINE_OFF(log10)
NINE_OFF(sinh)
NINE_OFF(cosh)
NINE_OFF(tanh)
NINE_OFF(lgamma)
double nine_off_pow(double x, double y) { return off(std::pow(x, y)); }
float nine_off_powf(float x, float y) { return off(std::pow(x, y)); }
double nine_off_atan2(double x, double y) { return off(std::atan2(x, y)); }
double nine_off_hypot(double x, double y) { return off(std::hypot(x, y)); }
}
