// The threads of a block as fibers, with their barriers, lane exchange and shared memory. Blocks
// run one after another, but those of a cooperative launch side by side: each until its threads
// have left the kernel or wait for the other blocks.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
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

constexpr size_t kStack = 256 * 1024, kMostThreads = 1024, kMostFibers = 10240, kGuard = 256;

enum class State : uint8_t { ready, at_block, at_warp, at_grid, done };
struct Fiber {
  void* stack_pointer = nullptr;
  dim3 index;
  State state = State::ready;
};
// A block that runs, with its fibers' first stack.
struct Block {
  dim3 index;
  size_t first_stack = 0;
  std::vector<Fiber> fibers;
  std::vector<size_t> order;
  std::vector<std::byte> shared;
  uint64_t slots[kMostThreads / 32][32] = {};
  bool votes[kMostThreads] = {};
};

struct Machine {
  std::byte* stacks = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;  // those that run side by side
  Block* block = nullptr;                      // that of the running fiber
  void* scheduler = nullptr;                   // its stack pointer while a fiber runs
  size_t running = 0;                          // the fiber, of its block
  const std::function<void()>* thread = nullptr;
  std::exception_ptr error;
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
// That of the running fiber.
Block& running_block() {
  Block* const block = machine().block;
  if (block == nullptr) std::abort();  // what only kernels call
  return *block;
}

std::byte* stack_of(const Block& b, size_t i) {
  return machine().stacks + (b.first_stack + i) * kStack;
}

void to_scheduler(State state) {
  Machine& m = machine();
  Fiber& f = running_block().fibers[m.running];
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
    if (m.thread != nullptr) (*m.thread)();
  } catch (...) {
    m.error = std::current_exception();
  }
  to_scheduler(State::done);
}

void start(Block& b, size_t i, dim3 index) {
  auto** top = reinterpret_cast<void**>(stack_of(b, i) + kStack - 64);
  *--top = nullptr;  // where fiber_main would return to: it does not
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int registers = 0; registers < 6; ++registers) *--top = nullptr;
  b.fibers[i] = {top, index, State::ready};
}

void resume(size_t i) {
  Machine& m = machine();
  m.running = i;
  Block& b = running_block();
  threadIdx = b.fibers[i].index;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&m.fake_stack, stack_of(b, i), kStack);
#endif
  nine_switch_fiber(&m.scheduler, b.fibers[i].stack_pointer);
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
bool release_warps(const char* op, Block& b) {
  bool any = false;
  for (size_t first = 0; first < b.fibers.size(); first += 32) {
    const auto begin = b.fibers.begin() + static_cast<long>(first), end = begin + 32;
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

void release(Block& b) {
  for (Fiber& f : b.fibers) f.state = State::ready;
}

// Runs a block until its threads have left the kernel, or wait for other blocks: false.
bool run_block(const char* op, Block& b) {
  Machine& m = machine();
  m.block = &b;
  blockIdx = b.index;
  for (;;) {
    shuffle(b.order);
    size_t done = 0, at_block = 0, at_grid = 0;
    for (const size_t i : b.order) {
      if (b.fibers[i].state == State::ready) resume(i);
      if (m.error) std::rethrow_exception(std::exchange(m.error, nullptr));
      done += b.fibers[i].state == State::done;
      at_block += b.fibers[i].state == State::at_block;
      at_grid += b.fibers[i].state == State::at_grid;
    }
    if (done == b.fibers.size()) return true;
    if (at_grid == b.fibers.size()) return false;
    if (release_warps(op, b)) continue;
    nine::require(at_block == b.fibers.size(), "[", op, "] ", at_block, " of ", b.fibers.size(),
                  " threads of a block wait at __syncthreads, ", at_grid, " for other blocks, and ",
                  done, " have left the kernel");
    ++m.counts.barriers;
    release(b);
  }
}

struct Launch {
  Kernel kernel;
  dim3 grid, block;
  size_t shared;
  const std::function<void()>* thread;
  std::string name;

  size_t blocks() const { return size_t{grid.x} * grid.y * grid.z; }
  size_t threads() const { return size_t{block.x} * block.y * block.z; }
  dim3 block_index(size_t b) const {
    return dim3(static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / grid.x / grid.y));
  }
  dim3 thread_index(size_t i) const {
    return dim3(static_cast<unsigned>(i % block.x), static_cast<unsigned>(i / block.x % block.y),
                static_cast<unsigned>(i / block.x / block.y));
  }
};

void check_sizes(const Launch& l) {
  const char* const op = l.kernel.op;
  nine::require(l.threads() % 32 == 0 && l.threads() > 0 && l.threads() <= kMostThreads, "[", op,
                "] a block of ", l.threads(), " threads");
  nine::require(l.blocks() > 0 && l.grid.x < (1u << 31) && l.grid.y < 65536 && l.grid.z < 65536,
                "[", op, "] a grid of ", l.grid.x, " x ", l.grid.y, " x ", l.grid.z);
  nine::require(l.shared <= most_shared(l.kernel.function), "[", op, "] ", l.shared,
                " bytes of shared memory");
  if (!l.kernel.together) return;
  const size_t most = std::min(blocks_at_once(l.shared), kMostFibers / l.threads());
  nine::require(l.blocks() <= most, "[", op, "] ", l.blocks(),
                " blocks cannot run side by side: there is room for ", most);
}

// In the slot `slot` of those that run side by side.
void begin(const Launch& l, size_t slot, size_t index) {
  Machine& m = machine();
  while (m.blocks.size() <= slot) m.blocks.push_back(std::make_unique<Block>());
  Block& b = *m.blocks[slot];
  const size_t threads = l.threads();
  b.index = l.block_index(index);
  b.first_stack = slot * threads;
  b.fibers.resize(threads);
  b.order.resize(threads);
  std::iota(b.order.begin(), b.order.end(), size_t{0});
  // Exactly the requested size, so that a sanitizer reports accesses outside; without one the
  // guard behind it detects writes.
  if (sees_accesses()) b.shared.reserve(kSharedRange);
  b.shared.assign(l.shared + kGuard, std::byte{0xff});
  for (size_t i = 0; i < threads; ++i) start(b, i, l.thread_index(i));
  begin_block(slot, l.name, index, threads, b.shared.data(), l.shared);
}

void end(const Launch& l, size_t slot) {
  const Block& b = *machine().blocks[slot];
  end_block(slot);
  nine::require(std::all_of(b.shared.end() - kGuard, b.shared.end(),
                            [](std::byte x) { return x == std::byte{0xff}; }),
                "[", l.kernel.op, "] wrote behind its shared memory of ", l.shared, " bytes");
}

void run_one_by_one(const Launch& l, const std::vector<size_t>& order) {
  for (const size_t index : order) {
    begin(l, 0, index);
    resume_block(0);
    nine::require(run_block(l.kernel.op, *machine().blocks[0]), "[", l.kernel.op,
                  "] waits for its other blocks, which may not have begun");
    end(l, 0);
  }
}

void run_together(const Launch& l, std::vector<size_t> order) {
  Machine& m = machine();
  for (const size_t index : order) begin(l, index, index);
  for (size_t done = 0; done < order.size();) {
    done = 0;
    for (const size_t slot : order) {
      resume_block(slot);
      done += run_block(l.kernel.op, *m.blocks[slot]);
    }
    nine::require(done == 0 || done == order.size(), "[", l.kernel.op, "] ", done, " of ",
                  order.size(), " blocks have left the kernel, and the others wait for them");
    if (done > 0) break;
    ++m.counts.grid_barriers;
    for (const size_t slot : order) release(*m.blocks[slot]);
    shuffle(order);
  }
  for (const size_t slot : order) end(l, slot);
}

void run_grid(const Launch& l) {
  Machine& m = machine();
  check_sizes(l);
  if (m.stacks == nullptr)
    m.stacks = static_cast<std::byte*>(mmap(nullptr, kStack * kMostFibers, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ++m.counts.launches;
  m.thread = l.thread;
  blockDim = l.block;
  gridDim = l.grid;
  std::vector<size_t> order(l.blocks());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order);
  begin_launch();
#if defined(__SANITIZE_ADDRESS__)
  if (std::exchange(m.abandoned, true))
    __asan_unpoison_memory_region(m.stacks, kStack * kMostFibers);
#endif
  if (l.kernel.together) {
    run_together(l, std::move(order));
  } else {
    run_one_by_one(l, order);
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
         run_grid(
             {kernel, grid, block, shared, &thread, nine::concat(kernel.op, " ", kernel.types)});
       }});
}

void* shared_memory() { return running_block().shared.data(); }
size_t running_thread() { return machine().running; }
const char* types_of(const char* function) {
  std::string text = function;
  const size_t begin = text.find("P = {");
  if (begin != std::string::npos) text = text.substr(begin + 5, text.find("}; A =") - begin - 5);
  for (const char* part : {"nine::cuda::", "nine::", "{anonymous}::", "scores::", "ops::"})
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
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
void sync_grid() {
  passed_barrier(machine().running, Barrier::grid);
  to_scheduler(State::at_grid);
}
unsigned lane() { return static_cast<unsigned>(machine().running % 32); }
void* lane_slot(unsigned l) { return &running_block().slots[machine().running / 32][l]; }
bool any_of_block(bool mine) {
  Block& b = running_block();
  b.votes[machine().running] = mine;
  sync_block();
  const bool any = std::any_of(b.votes, b.votes + b.fibers.size(), [](bool vote) { return vote; });
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
