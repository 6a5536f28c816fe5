// This file is always compiled for plain x86-64, whatever NINE_ARCH is (cmake/arch.cmake). It must
// run on CPUs that the rest of the program was not built for.
#include "core/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace nine {
namespace {

// The features that each instruction set adds to the instruction set before it. cmake/arch.cmake
// sets three macros: NINE_BUILT_FOR, the features that the compiler may use everywhere;
// NINE_BASE_ISA, the instruction set of these features; NINE_ARCH_NAME, the name of `generic`.
constexpr InstructionSet kBase = InstructionSet::NINE_BASE_ISA;
constexpr const char* kBuiltFor = NINE_BUILT_FOR;
constexpr const char* kFeatures[] = {"", "sse4.2 avx avx2 fma bmi2 f16c",
                                     "avx512f avx512bw avx512cd avx512dq avx512vl", "avx512bf16",
                                     "amx-tile amx-bf16"};

constexpr InstructionSet kLargest =
#ifdef NINE_DISPATCH
    InstructionSet::amx;
#else
    kBase;
#endif

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

// Returns the registers that the operating system saves (XCR0). Without them a CPU's feature cannot
// be used.
uint64_t saved_registers() {
  constexpr unsigned kOsxsave = 1u << 27;
  if ((cpuid(1, 0).c & kOsxsave) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool bit(unsigned word, int n) { return (word >> n & 1) != 0; }

// The answers of the CPU and the system about their features. They are read once for a list of
// features, because on a virtual machine CPUID enters the hypervisor and takes microseconds.
struct Cpu {
  Registers one = cpuid(1, 0), seven = cpuid(7, 0), more = cpuid(7, 1);
  uint64_t saved = saved_registers();
};

struct Feature {
  const char* name;
  bool present;
};

// Reads CPUID directly, because clang 14 lacks __builtin_cpu_supports("amx-bf16"). Source: Intel's
// manual, volume 2, CPUID.
bool has_feature(const Cpu& cpu, const char* name, size_t length) {
  const auto& [one, seven, more, saved] = cpu;
  const bool ymm = (saved & 0x6) == 0x6, zmm = ymm && (saved & 0xe0) == 0xe0,
             tiles = (saved & 0x60000) == 0x60000;
  const Feature all[] = {{"sse4.2", bit(one.c, 20)},
                         {"avx", ymm && bit(one.c, 28)},
                         {"avx2", ymm && bit(seven.b, 5)},
                         {"fma", ymm && bit(one.c, 12)},
                         {"f16c", ymm && bit(one.c, 29)},
                         {"bmi2", bit(seven.b, 8)},
                         {"avx512f", zmm && bit(seven.b, 16)},
                         {"avx512dq", zmm && bit(seven.b, 17)},
                         {"avx512cd", zmm && bit(seven.b, 28)},
                         {"avx512bw", zmm && bit(seven.b, 30)},
                         {"avx512vl", zmm && bit(seven.b, 31)},
                         {"avx512vbmi", zmm && bit(seven.c, 1)},
                         {"avx512bf16", zmm && bit(more.a, 5)},
                         {"amx-bf16", tiles && bit(seven.d, 22)},
                         {"amx-tile", tiles && bit(seven.d, 24)}};
  for (const Feature& f : all)
    if (std::strlen(f.name) == length && std::memcmp(f.name, name, length) == 0) return f.present;
  return false;
}

// Linux provides the registers of tiles, 8 KiB a thread, only to processes that ask for them.
bool tiles_permitted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
// True if a product of pairs of bfloat16 takes less time than one of float32, as on AMD's CPUs:
// they start as many instructions of either kind, and a pair does twice the work. Intel's start
// half as many for pairs, and packing costs time too (docs/matmul-precision.md, "AVX512-BF16"). No
// other maker's CPU was measured.
bool pairs_are_faster() {
  const Registers vendor = cpuid(0, 0);
  return std::memcmp(&vendor.b, "Auth", 4) == 0 && std::memcmp(&vendor.d, "enti", 4) == 0 &&
         std::memcmp(&vendor.c, "cAMD", 4) == 0;
}
#else
struct Cpu {};
bool has_feature(const Cpu&, const char*, size_t) { return true; }
bool tiles_permitted() { return false; }
bool pairs_are_faster() { return false; }
#endif

// A name within a text.
struct Name {
  const char* begin = nullptr;  // null: no name
  size_t length = 0;
};

// Returns the first of `features`, names separated by blanks, that this CPU lacks. It runs before
// main() on any CPU, so it calls the C library alone: the linker may have taken an inline function
// of the C++ library from a file compiled for a newer CPU.
Name first_missing(const char* features) {
  const Cpu cpu{};
  while (*features != '\0') {
    const size_t length = std::strcspn(features, " ");
    if (length > 0 && !has_feature(cpu, features, length)) return {features, length};
    features += length + (features[length] == ' ' ? 1 : 0);
  }
  return {};
}

void print_error(const char* text, size_t length) {
  const ssize_t written = write(STDERR_FILENO, text, length);
  static_cast<void>(written);
}
void print_error(const char* text) { print_error(text, std::strlen(text)); }

// Runs before any other constructor of the program.
__attribute__((constructor(101))) void refuse_wrong_cpu() {
  const Name missing = first_missing(kBuiltFor);
  if (missing.begin == nullptr) return;
  print_error("this program was built for a CPU with ");
  print_error(missing.begin, missing.length);
  print_error(
      ", which this machine does not have; build it here, or with -DNINE_ARCH=x86-64-v3 (or "
      "x86-64) for both\n");
  _exit(1);
}

bool runs(InstructionSet set) {
  return missing_feature(set).empty() && (set != InstructionSet::amx || tiles_permitted());
}

std::string names(const std::vector<InstructionSet>& sets) {
  std::string out;
  for (const InstructionSet set : sets) out += (out.empty() ? "" : ", ") + to_text(set);
  return out;
}

InstructionSet choose() {
  const std::vector<InstructionSet> built = built_instruction_sets();
  const char* asked = std::getenv("NINE_ISA");
  if (asked == nullptr || *asked == '\0')
    return *std::find_if(built.rbegin(), built.rend(), [](InstructionSet set) {
      return set == kBase ||
             (runs(set) && (set != InstructionSet::avx512_bf16 || pairs_are_faster()));
    });
  const auto set = std::find_if(built.begin(), built.end(),
                                [&](InstructionSet s) { return to_text(s) == asked; });
  require(set != built.end(), "NINE_ISA=", asked,
          ": this build has code for other instruction sets only: ", names(built));
  require(missing_feature(*set).empty(), "NINE_ISA=", asked, ": this CPU has no ",
          missing_feature(*set), "; unset NINE_ISA to use the best instruction set of this CPU");
  require(*set == kBase || runs(*set), "NINE_ISA=", asked,
          ": the operating system does not let this process use tiles; set NINE_ISA=avx512_bf16, "
          "which needs no tiles");
  return *set;
}

}  // namespace

std::string to_text(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::avx512_bf16:
      return "avx512_bf16";
    case InstructionSet::amx:
      return "amx";
    case InstructionSet::generic:
      break;
  }
  return NINE_ARCH_NAME;
}

InstructionSet instruction_set() {
  static const InstructionSet chosen = choose();
  return chosen;
}

std::vector<InstructionSet> built_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (int i = static_cast<int>(kBase); i <= static_cast<int>(kLargest); ++i)
    sets.push_back(static_cast<InstructionSet>(i));
  return sets;
}

std::string missing_feature(InstructionSet set) {
  for (int i = 1; i <= static_cast<int>(set); ++i)
    if (const Name missing = first_missing(kFeatures[i]); missing.begin != nullptr)
      return {missing.begin, missing.length};
  return {};
}

}  // namespace nine
