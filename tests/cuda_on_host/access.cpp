#include "tests/cuda_on_host/access.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/cuda_on_host/card.h"

namespace cuda_on_host {
namespace {

bool g_in_block = false, g_busy = false;

constexpr size_t kSector = 32;
constexpr int64_t kMostBlocks = 64;  // of a kernel that are counted

// What the lanes of a warp read with the same instruction, the n-th time that each is there.
struct WarpLoad {
  std::vector<std::pair<uintptr_t, size_t>> bytes;
};
struct Key {
  size_t warp;
  uintptr_t instruction;
  uint32_t time;
  bool operator==(const Key&) const = default;
};
struct Hash {
  size_t operator()(const Key& k) const {
    return (k.instruction * 31 + k.warp) * 0x9e3779b97f4a7c15ull + k.time;
  }
};

struct Recorder {
  bool on = false, counted = false;
  std::map<std::string, Loads> all;
  std::map<std::string, int64_t> blocks;
  Loads* now = nullptr;
  std::unordered_map<Key, WarpLoad, Hash> warp_loads;
  std::vector<std::unordered_map<uintptr_t, uint32_t>> times;  // a thread's, of each instruction
  std::vector<char> in_run;                                    // of each thread
  std::string wrong;
};
Recorder& recorder() {
  static Recorder& r = *new Recorder;
  return r;
}

void add_up(const WarpLoad& load, Loads& to) {
  std::vector<uintptr_t> sectors;
  std::vector<std::pair<uintptr_t, size_t>> bytes = load.bytes;
  std::sort(bytes.begin(), bytes.end());
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  size_t total = 0;
  for (const auto& [at, size] : bytes) {
    total += size;
    for (uintptr_t s = at / kSector; s <= (at + size - 1) / kSector; ++s) sectors.push_back(s);
  }
  std::sort(sectors.begin(), sectors.end());
  const auto distinct = std::unique(sectors.begin(), sectors.end()) - sectors.begin();
  ++to.warp_loads;
  to.sectors += distinct;
  to.least += static_cast<int64_t>((total + kSector - 1) / kSector);
}

}  // namespace

bool sees_accesses() {
#ifdef NINE_STRICT
  return true;
#else
  return false;
#endif
}
void count_loads(bool on) {
  Recorder& r = recorder();
  r.on = on;
  if (on) {
    r.all.clear();
    r.blocks.clear();
  }
}
const std::map<std::string, Loads>& loads() { return recorder().all; }

void begin_block(const std::string& kernel, size_t threads) {
  Recorder& r = recorder();
  g_in_block = true;
  r.counted = r.on && ++r.blocks[kernel] <= kMostBlocks;
  if (!r.counted) return;
  r.now = &r.all[kernel];
  r.warp_loads.clear();
  r.times.assign(threads, {});
  r.in_run.assign(threads, 0);
}

void end_block(const char* op) {
  Recorder& r = recorder();
  g_in_block = false;
  if (r.counted)
    for (const auto& [key, load] : r.warp_loads) add_up(load, *r.now);
  if (!r.wrong.empty()) nine::fail("[", op, "] ", std::exchange(r.wrong, {}));
}

void passed_barrier(size_t thread) {
  Recorder& r = recorder();
  if (r.counted && thread < r.in_run.size()) r.in_run[thread] = 0;
}

namespace {

void note(uintptr_t address, size_t bytes, bool store, uintptr_t instruction) {
  Recorder& r = recorder();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): compared, not followed
  const void* p = reinterpret_cast<const void*>(address);
  Card* const owner = card_of(p);
  if (owner == nullptr) return;
  if (!owner->memory.holds(p, bytes) && r.wrong.empty())
    r.wrong = nine::concat(store ? "writes " : "reads ", bytes, " bytes outside of its memory");
  if (!r.counted) return;
  const size_t thread = running_thread();
  if (store) {
    r.in_run[thread] = 0;
    return;
  }
  ++r.now->thread_loads;
  if (!std::exchange(r.in_run[thread], 1)) ++r.now->runs;
  const uint32_t time = r.times[thread][instruction]++;
  r.warp_loads[{thread / 32, instruction, time}].bytes.emplace_back(address, bytes);
}

}  // namespace

// Called for every access of the code that is compiled with the hooks.
void accessed(uintptr_t address, size_t bytes, bool store, uintptr_t instruction) {
  if (g_busy || !g_in_block) return;
  g_busy = true;  // the containers' code may be a copy that is compiled with the hooks
  note(address, bytes, store, instruction);
  g_busy = false;
}

}  // namespace cuda_on_host

#ifdef NINE_STRICT
#define NINE_HOOKS(size)                                                              \
  void __asan_load##size##_noabort(unsigned long a) {                                 \
    cuda_on_host::accessed(a, size, false,                                            \
                           reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }                                                                                   \
  void __asan_store##size##_noabort(unsigned long a) {                                \
    cuda_on_host::accessed(a, size, true,                                             \
                           reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }
extern "C" {
NINE_HOOKS(1)
NINE_HOOKS(2)
NINE_HOOKS(4)
NINE_HOOKS(8)
NINE_HOOKS(16)
void __asan_loadN_noabort(unsigned long a, unsigned long n) {
  cuda_on_host::accessed(a, n, false, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void __asan_storeN_noabort(unsigned long a, unsigned long n) {
  cuda_on_host::accessed(a, n, true, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const char*) {}
void __asan_after_dynamic_init() {}
}
#endif
