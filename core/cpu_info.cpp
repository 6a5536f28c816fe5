// Always compiled for plain x86-64, whatever NINE_ARCH is (cmake/arch.cmake), since it has to run
// on CPUs for which the rest of the program was not built.
#include "core/cpu_info.h"

#include <unistd.h>
#include <cstdlib>
#include <cstring>

#ifndef NINE_BUILT_FOR
#define NINE_BUILT_FOR ""
#endif

namespace nine {
namespace {

struct Feature {
  const char* name;
  bool present;
};

// The first required feature that is missing, or null. It must not call code that may have been
// compiled for a newer CPU.
const char* first_missing() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const Feature features[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
      {"avx", __builtin_cpu_supports("avx") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"bmi2", __builtin_cpu_supports("bmi2") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512vbmi", __builtin_cpu_supports("avx512vbmi") != 0},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16") != 0},
  };
  const char* const needed = NINE_BUILT_FOR;
  for (const Feature& f : features) {
    // Names in `needed` are separated by blanks; only whole words count.
    const size_t length = std::strlen(f.name);
    for (const char* at = std::strstr(needed, f.name); at != nullptr;
         at = std::strstr(at + 1, f.name))
      if (!f.present && (at == needed || at[-1] == ' ') &&
          (at[length] == ' ' || at[length] == '\0'))
        return f.name;
  }
#endif
  return nullptr;
}

void print_error(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

// Before any other constructor of the program.
__attribute__((constructor(101))) void refuse_wrong_cpu() {
  const char* missing = first_missing();
  if (missing == nullptr) return;
  print_error("this program was built for a CPU with ");
  print_error(missing);
  print_error(
      ", which this machine does not have; build it here, or with -DNINE_ARCH=x86-64-v3 (or "
      "x86-64) for both\n");
  _exit(1);
}

}  // namespace

const char* built_for() { return NINE_BUILT_FOR; }

std::string missing_instruction_set() {
  const char* missing = first_missing();
  return missing == nullptr ? "" : missing;
}

}  // namespace nine
