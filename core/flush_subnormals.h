// Arithmetic without subnormal numbers, as the instructions for bfloat16 have it.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace nine {

/// While it lives, this thread's subnormal factors and results count as 0 (on x86; elsewhere they
/// are what they are). Compilers know nothing of it: what it is for is called, not inlined.
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
