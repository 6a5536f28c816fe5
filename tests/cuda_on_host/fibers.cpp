// A block's threads as fibers, with their barriers, lane exchange and shared memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "tests/cuda_on_host/access.h"
#include "tests/cuda_on_host/card.h"

#if !defined(__x86_64__)
#error "the fibers of tests/cuda_on_host switch stacks with x86-64 instructions"
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" void nine_switch_fiber(void** saved, void* to);
// Callee-saved registers on the old stack, the stack, and those of the new one.
asm(R"(
.text
.globl nine_switch_fiber
.type nine_switch_fiber, @function
nine_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size nine_switch_fiber, .-nine_switch_fiber
)");

namespace cuda_on_host {
namespace {

constexpr size_t kStack = 256 * 1024, kMostThreads = 1024, kGuard = 256;

enum class State : uint8_t { ready, at_block, at_warp, done };
struct Fiber {
  void* stack_pointer = nullptr;
  dim3 index;
  State state = State::ready;
};

struct Machine {
  std::byte* stacks = nullptr;
  std::vector<Fiber> fibers;
  std::vector<size_t> order;
  void* scheduler = nullptr;  // its stack pointer while a fiber runs
  size_t running = 0;
  const std::function<void()>* thread = nullptr;
  std::exception_ptr error;
  std::vector<std::byte> shared;
  uint64_t slots[kMostThreads / 32][32] = {};
  bool votes[kMostThreads] = {};
  uint64_t seed = 1, draws = 0;
  Counts counts;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  size_t size = 0;
  bool abandoned = false;  // stacks that a failed launch left in the middle of their functions
#endif
};
Machine& machine() {
  static Machine m;
  return m;
}

std::byte* stack_of(size_t i) { return machine().stacks + i * kStack; }

void to_scheduler(State state) {
  Machine& m = machine();
  Fiber& f = m.fibers[m.running];
  f.state = state;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(state == State::done ? nullptr : &fake, m.bottom, m.size);
#endif
  nine_switch_fiber(&f.stack_pointer, m.scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &m.bottom, &m.size);
#endif
}

void fiber_main() {
  Machine& m = machine();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &m.bottom, &m.size);
#endif
  try {
    (*m.thread)();
  } catch (...) {
    m.error = std::current_exception();
  }
  to_scheduler(State::done);
}

void start(size_t i, dim3 index) {
  Machine& m = machine();
  auto** top = reinterpret_cast<void**>(stack_of(i) + kStack - 64);
  *--top = nullptr;  // where fiber_main would return to: it does not
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int registers = 0; registers < 6; ++registers) *--top = nullptr;
  m.fibers[i] = {top, index, State::ready};
}

void resume(size_t i) {
  Machine& m = machine();
  m.running = i;
  threadIdx = m.fibers[i].index;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&m.fake_stack, stack_of(i), kStack);
#endif
  nine_switch_fiber(&m.scheduler, m.fibers[i].stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(m.fake_stack, nullptr, nullptr);
#endif
}

void shuffle(std::vector<size_t>& order) {
  Machine& m = machine();
  nine::RandomStream random({.seed = m.seed, .op = 77}, m.draws);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits() % i]);
  m.draws = random.position();
}

// Resumes a warp whose threads have all reached the barrier.
bool release_warps(const char* op) {
  Machine& m = machine();
  bool any = false;
  for (size_t first = 0; first < m.fibers.size(); first += 32) {
    const auto begin = m.fibers.begin() + static_cast<long>(first), end = begin + 32;
    const auto waiting =
        std::count_if(begin, end, [](const Fiber& f) { return f.state == State::at_warp; });
    if (waiting == 0) continue;
    nine::require(waiting == 32, "[", op, "] ", waiting,
                  " of the 32 threads of a warp wait for each other: the others took another way");
    std::for_each(begin, end, [](Fiber& f) { f.state = State::ready; });
    any = true;
  }
  return any;
}

void run_block(const char* op) {
  Machine& m = machine();
  for (;;) {
    shuffle(m.order);
    size_t done = 0, at_block = 0;
    for (const size_t i : m.order) {
      if (m.fibers[i].state == State::ready) resume(i);
      if (m.error) std::rethrow_exception(std::exchange(m.error, nullptr));
      done += m.fibers[i].state == State::done;
      at_block += m.fibers[i].state == State::at_block;
    }
    if (done == m.fibers.size()) return;
    if (release_warps(op)) continue;
    nine::require(at_block == m.fibers.size(), "[", op, "] ", at_block, " of ", m.fibers.size(),
                  " threads of a block wait at __syncthreads and ", done, " have left the kernel");
    ++m.counts.barriers;
    for (Fiber& f : m.fibers) f.state = State::ready;
  }
}

void run_grid(const Kernel& kernel, dim3 grid, dim3 block, size_t shared,
              const std::function<void()>& thread) {
  const char* const op = kernel.op;
  const std::string name = nine::concat(op, " ", kernel.types);
  Machine& m = machine();
  const size_t threads = size_t{block.x} * block.y * block.z;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  nine::require(threads % 32 == 0 && threads > 0 && threads <= kMostThreads, "[", op,
                "] a block of ", threads, " threads");
  nine::require(blocks > 0 && grid.x < (1u << 31) && grid.y < 65536 && grid.z < 65536, "[", op,
                "] a grid of ", grid.x, " x ", grid.y, " x ", grid.z);
  nine::require(shared <= 48 * 1024, "[", op, "] ", shared, " bytes of shared memory");
  if (m.stacks == nullptr)
    m.stacks = static_cast<std::byte*>(mmap(nullptr, kStack * kMostThreads, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ++m.counts.launches;
  m.thread = &thread;
  blockDim = block;
  gridDim = grid;
  m.fibers.resize(threads);
  m.order.resize(threads);
  std::iota(m.order.begin(), m.order.end(), size_t{0});
  std::vector<size_t> blocks_order(blocks);
  std::iota(blocks_order.begin(), blocks_order.end(), size_t{0});
  shuffle(blocks_order);
  begin_launch();
#if defined(__SANITIZE_ADDRESS__)
  if (std::exchange(m.abandoned, true))
    __asan_unpoison_memory_region(m.stacks, kStack * kMostThreads);
#endif
  for (const size_t b : blocks_order) {
    blockIdx = dim3(static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                    static_cast<unsigned>(b / grid.x / grid.y));
    // Exactly the requested size, so that a sanitizer reports accesses outside; without one the
    // guard behind it detects writes.
    if (sees_accesses()) m.shared.reserve(kSharedRange);
    m.shared.assign(shared + kGuard, std::byte{0xff});
    for (size_t i = 0; i < threads; ++i)
      start(i,
            dim3(static_cast<unsigned>(i % block.x), static_cast<unsigned>(i / block.x % block.y),
                 static_cast<unsigned>(i / block.x / block.y)));
    begin_block(name, b, threads, m.shared.data(), shared);
    run_block(op);
    end_block();
    nine::require(std::all_of(m.shared.end() - kGuard, m.shared.end(),
                              [](std::byte x) { return x == std::byte{0xff}; }),
                  "[", op, "] wrote behind its shared memory of ", shared, " bytes");
  }
#if defined(__SANITIZE_ADDRESS__)
  m.abandoned = false;
#endif
}

}  // namespace

void launch(const Kernel& kernel, cudaStream_t stream, dim3 grid, dim3 block, size_t shared,
            std::vector<const void*> uses, std::function<void()> thread) {
  if (!stream->current()) failed(cudaErrorInvalidResourceHandle);
  if (!stream->current() || enter() != cudaSuccess) return;
  stream->submit(
      {kernel.op, std::move(uses), [kernel, grid, block, shared, thread = std::move(thread)] {
         run_grid(kernel, grid, block, shared, thread);
       }});
}

void* shared_memory() { return machine().shared.data(); }
size_t running_thread() { return machine().running; }
const char* types_of(const char* function) {
  std::string text = function;
  const size_t begin = text.find("P = {");
  if (begin != std::string::npos) text = text.substr(begin + 5, text.find("}; A =") - begin - 5);
  for (const char* part : {"nine::cuda::", "nine::", "{anonymous}::", "scores::", "ops::"})
    for (size_t at; (at = text.find(part)) != std::string::npos;)
      text.erase(at, std::char_traits<char>::length(part));
  return strdup(text.c_str());  // kept by the caller for as long as the program runs
}
void sync_block() {
  passed_barrier(machine().running, Barrier::block);
  to_scheduler(State::at_block);
}
void sync_warp(bool memory) {
  passed_barrier(machine().running, memory ? Barrier::warp : Barrier::shuffle);
  to_scheduler(State::at_warp);
}
unsigned lane() { return static_cast<unsigned>(machine().running % 32); }
void* lane_slot(unsigned l) { return &machine().slots[machine().running / 32][l]; }
bool any_of_block(bool mine) {
  Machine& m = machine();
  m.votes[m.running] = mine;
  sync_block();
  const bool any = std::any_of(m.votes, m.votes + m.fibers.size(), [](bool vote) { return vote; });
  sync_block();
  return any;
}
void set_seed(uint64_t seed) {
  machine().seed = seed;
  machine().draws = 0;
}
Counts counts() {
  Counts c = machine().counts;
  c.graphs = graphs_launched();
  c.calls = api_calls();
  c.allocations = allocations();
  c.live_graphs = live_graphs();
  return c;
}

}  // namespace cuda_on_host
