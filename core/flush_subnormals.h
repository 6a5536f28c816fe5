// Arithmetic without subnormal numbers, as in the instructions for bfloat16.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace nine {

/// Makes this thread's subnormal factors and results count as 0 while the object lives (on x86; no
/// effect elsewhere). Compilers do not know of the mode, so the arithmetic must be in a function
/// that is not inlined.
class FlushSubnormals {
 public:
#ifdef __SSE2__
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#endif
};

}  // namespace nine
