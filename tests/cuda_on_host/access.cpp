#include "tests/cuda_on_host/access.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/pool_watch.h"
#include "tests/cuda_on_host/card.h"
#include "tests/cuda_on_host/shadow.h"

namespace cuda_on_host {
namespace {

bool g_in_block = false, g_busy = false;

#ifdef NINE_STRICT
// The stand-in's queue runs work later than the host asks for it: so it is with what a pool gives.
void queue_shadow(const void* p, size_t bytes, void (Shadow::*change)(const void*, size_t)) {
  Card* const owner = card_of(p);
  if (owner == nullptr || owner->memory.shadow() == nullptr) return;
  owner->queue.push_back({.op = "pool",
                          .uses = {},
                          .run = [=] { (owner->memory.shadow()->*change)(p, bytes); },
                          .counts = false,
                          .always = true});
}
constexpr nine::PoolWatch kWatch{
    256, [](const void* p, size_t bytes) { queue_shadow(p, bytes, &Shadow::given); },
    [](const void* p, size_t bytes) { queue_shadow(p, bytes, &Shadow::taken); }};
[[maybe_unused]] const bool g_watches = (nine::set_pool_watch(&kWatch), true);
#endif

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

// A block that runs: what is known of its shared memory, of its threads and of their loads, and
// what they do wrong.
struct BlockAccesses {
  std::unique_ptr<Shadow> shared;
  size_t shared_bytes = 0;
  std::vector<Accessor> threads;
  std::string wrong;
  bool counted = false;
  std::unordered_map<Key, WarpLoad, Hash> warp_loads;
  std::vector<std::unordered_map<uintptr_t, uint32_t>> times;  // a thread's, of each instruction
  std::vector<char> in_run;                                    // of each thread
};
struct Checker {
  std::string kernel;
  std::vector<std::unique_ptr<BlockAccesses>> blocks;  // by slot
  BlockAccesses* block = nullptr;                      // that of the running thread
};
Checker& checker() {
  static Checker& c = *new Checker;
  return c;
}
// That of the running thread.
BlockAccesses& running_block() {
  BlockAccesses* const block = checker().block;
  if (block == nullptr) std::abort();  // what only kernels call
  return *block;
}

struct Recorder {
  bool on = false;
  std::map<std::string, Loads> all;
  std::map<std::string, int64_t> blocks;
  Loads* now = nullptr;
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

void begin_launch() {
  for (int i = 0; i < kCards; ++i)
    if (Shadow* const shadow = card(i).memory.shadow()) shadow->begin_launch();
}

void begin_block(size_t slot, const std::string& kernel, size_t block, size_t threads,
                 std::byte* shared, size_t shared_bytes) {
  if (!sees_accesses()) return;
  Recorder& r = recorder();
  Checker& c = checker();
  c.kernel = kernel;
  while (c.blocks.size() <= slot) c.blocks.push_back(std::make_unique<BlockAccesses>());
  BlockAccesses& b = *c.blocks[slot];
  b.wrong.clear();
  b.threads.assign(threads, {.block = static_cast<uint32_t>(block)});
  for (size_t i = 0; i < threads; ++i) b.threads[i].thread = static_cast<uint16_t>(i);
  if (!b.shared) b.shared = std::make_unique<Shadow>(shared, kSharedRange);
  b.shared->taken(shared, b.shared_bytes);
  b.shared_bytes = shared_bytes;
  b.shared->given(shared, shared_bytes);
  b.shared->begin_launch();
  b.counted = r.on && ++r.blocks[kernel] <= kMostBlocks;
  if (!b.counted) return;
  r.now = &r.all[kernel];
  b.warp_loads.clear();
  b.times.assign(threads, {});
  b.in_run.assign(threads, 0);
}

void resume_block(size_t slot) {
  if (!sees_accesses()) return;
  g_in_block = true;
  checker().block = checker().blocks[slot].get();
}

void end_block(size_t slot) {
  if (!sees_accesses()) return;
  BlockAccesses& b = *checker().blocks[slot];
  g_in_block = false;
  if (b.counted)
    for (const auto& [key, load] : b.warp_loads) add_up(load, *recorder().now);
  if (!b.wrong.empty()) nine::fail(std::exchange(b.wrong, {}));
}

void passed_barrier(size_t thread, Barrier barrier) {
  if (!sees_accesses()) return;
  BlockAccesses& b = running_block();
  if (b.counted) b.in_run[thread] = 0;
  Accessor& by = b.threads[thread];
  if (barrier == Barrier::block || barrier == Barrier::grid) ++by.barriers;
  if (barrier == Barrier::warp) ++by.warp_barriers;
  if (barrier == Barrier::grid) ++by.grid_barriers;
}

namespace {

// Of device memory or the block's shared memory; null: neither.
Shadow* shadow_of(uintptr_t address) {
  for (int i = 0; i < kCards; ++i)
    if (Shadow* const shadow = card(i).memory.shadow(); shadow->has(address)) return shadow;
  Shadow* const shared = running_block().shared.get();
  return shared->has(address) ? shared : nullptr;
}

void note(uintptr_t address, size_t bytes, Access access, uintptr_t instruction) {
  const Checker& c = checker();
  BlockAccesses& b = running_block();
  Shadow* const shadow = shadow_of(address);
  if (shadow == nullptr) return;
  const size_t thread = running_thread();
  const bool shared = shadow == b.shared.get();
  if (b.wrong.empty()) {
    const Accessor& by = b.threads[thread];
    if (const std::string wrong = shadow->access(address, bytes, access, by); !wrong.empty())
      b.wrong = nine::concat("[", c.kernel, "] thread ", thread, " of block ", by.block, " ",
                             shared ? "of shared memory " : "", wrong);
  }
  if (!b.counted || shared) return;
  if (access != Access::load) {
    b.in_run[thread] = 0;
    return;
  }
  Loads& all = *recorder().now;
  ++all.thread_loads;
  if (!std::exchange(b.in_run[thread], 1)) ++all.runs;
  const uint32_t time = b.times[thread][instruction]++;
  b.warp_loads[{thread / 32, instruction, time}].bytes.emplace_back(address, bytes);
}

}  // namespace

// Called for every access of the code that is compiled with the hooks.
void accessed(uintptr_t address, size_t bytes, Access access, uintptr_t instruction) {
  if (g_busy || !g_in_block) return;
  g_busy = true;  // the containers' code may be a copy that is compiled with the hooks
  note(address, bytes, access, instruction);
  g_busy = false;
}

void begin_atomic(void* p, size_t bytes) {
  accessed(reinterpret_cast<uintptr_t>(p), bytes, Access::atomic, 0);
  g_busy = true;
}
void end_atomic() { g_busy = false; }

void scratch_given(cudaStream_t stream, void* p, size_t bytes, size_t capacity) {
  Card* const owner = card_of(p);
  if (owner == nullptr || owner->memory.shadow() == nullptr) return;
  stream->submit({.op = "scratch",
                  .uses = {},
                  .run =
                      [=] {
                        owner->memory.shadow()->taken(p, capacity);
                        owner->memory.shadow()->given(p, bytes);
                      },
                  .counts = false,
                  .always = true});
}

}  // namespace cuda_on_host

#ifdef NINE_STRICT
#define NINE_HOOKS(size)                                                              \
  void __asan_load##size##_noabort(unsigned long a) {                                 \
    cuda_on_host::accessed(a, size, cuda_on_host::Access::load,                       \
                           reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }                                                                                   \
  void __asan_store##size##_noabort(unsigned long a) {                                \
    cuda_on_host::accessed(a, size, cuda_on_host::Access::store,                      \
                           reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }
extern "C" {
NINE_HOOKS(1)
NINE_HOOKS(2)
NINE_HOOKS(4)
NINE_HOOKS(8)
NINE_HOOKS(16)
void __asan_loadN_noabort(unsigned long a, unsigned long n) {
  cuda_on_host::accessed(a, n, cuda_on_host::Access::load,
                         reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void __asan_storeN_noabort(unsigned long a, unsigned long n) {
  cuda_on_host::accessed(a, n, cuda_on_host::Access::store,
                         reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const char*) {}
void __asan_after_dynamic_init() {}
}
#endif
