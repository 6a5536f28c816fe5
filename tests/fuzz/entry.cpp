// libFuzzer's way into one of the targets, NINE_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nine::tests::NINE_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
