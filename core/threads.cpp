#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/scratch.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nine {
namespace {

int g_threads = 0;
thread_local bool t_inside = false;  // of a parallel loop: loops in it are serial

constexpr int kSpins =
    4000;  // some 100 microseconds, longer than the gaps between the loops of a step

// Waits in short intervals; false when the waiting has become long.
bool spin(int& spins) {
  if (spins >= kSpins) return false;
  ++spins;
#if defined(__x86_64__)
  _mm_pause();
#endif
  return true;
}

template <class F>
void wait_until(F&& done) {
  for (int spins = 0; !done();)
    if (!spin(spins)) std::this_thread::yield();  // more threads than cores: let the late one run
}

// The threads besides the caller's. They look for an open gate: for a moment spinning, then asleep.
class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    stopping_ = true;
    ring();
    for (std::thread& t : threads_) t.join();
  }

  // Runs body(context) on this thread and, while it runs here, on up to `helpers` others as they
  // come.
  void run(int helpers, void (*body)(void*), void* context) {
    const std::unique_lock lock(
        busy_, std::try_to_lock);  // another thread of the program's may be in a loop
    if (!lock) return body(context);
    while (static_cast<int>(threads_.size()) < helpers)
      threads_.emplace_back([this, me = static_cast<int>(threads_.size())] { work(me); });
    body_ = body;
    context_ = context;
    helpers_ = helpers;
    gate_ = ((gate_ >> kTicketShift) + 1) << kTicketShift | kOpen;
    if (asleep_ > 0) ring();
    body(context);
    gate_ &= ~kOpen;
    wait_until([&] { return (gate_ & kInside) == 0; });
  }

 private:
  // The gate in one word: which loop it is, whether one may still come in, how many helpers are
  // inside.
  static constexpr int kTicketShift = 32;
  static constexpr uint64_t kOpen = uint64_t{1} << 31, kInside = kOpen - 1;

  void ring() {
    ++bell_;
    bell_.notify_all();
  }

  void work(int me) {
    t_inside = true;
    for (uint64_t last = 0; !stopping_;) {
      uint64_t g = wait_for_gate(last);
      if ((g & kOpen) == 0) continue;  // missed, or stopping
      last = g >> kTicketShift;
      while (me < helpers_ && (g & kOpen) != 0 && g >> kTicketShift == last) {
        if (!gate_.compare_exchange_weak(g, g + 1)) continue;
        body_(context_);
        --gate_;
        break;
      }
    }
  }

  // The gate, once it is another loop's than `last`, or after sleep.
  uint64_t wait_for_gate(uint64_t last) {
    const auto news = [&] { return (gate_ & kOpen) != 0 && gate_ >> kTicketShift != last; };
    for (int spins = 0; !news() && !stopping_;) {
      if (spin(spins)) continue;
      const int before = bell_;
      ++asleep_;
      if (!news() && !stopping_) bell_.wait(before);
      --asleep_;
      break;
    }
    return gate_;
  }

  std::mutex busy_;
  std::vector<std::thread> threads_;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<int> helpers_ = 0, asleep_ = 0, bell_ = 0;
  std::atomic<bool> stopping_ = false;
  alignas(64) std::atomic<uint64_t> gate_ = 0;
};

// Runs body on up to `members` threads, this one among them.
void run_on_crew(int64_t members, void (*body)(void*), void* context) {
  static ThreadPool crew;
  t_inside = true;
  crew.run(static_cast<int>(members) - 1, body, context);
  t_inside = false;
}

}  // namespace

int physical_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0)
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
    std::string line;
    cores.insert(std::getline(siblings, line) ? line : std::to_string(cpu));
  }
  return std::max(1, static_cast<int>(cores.size()));
}

void set_threads(int count) {
  require(count >= 1 && count <= 4096, "the number of threads must be from 1 to 4096, not ", count);
  g_threads = count;
}

int threads() {
  if (g_threads == 0) g_threads = physical_cores();
  return g_threads;
}

namespace detail {

void parallel_run(int64_t tasks, void (*task)(void*, int64_t), void* context) {
  if (tasks <= 1 || threads() == 1 || t_inside) {
    for (int64_t i = 0; i < tasks; ++i) task(context, i);
    return;
  }
  struct Loop {
    int64_t tasks;
    void (*task)(void*, int64_t);
    void* context;
    std::atomic<int64_t> next = 0;
    std::mutex failing;
    int64_t failed;
    std::exception_ptr first;
  } loop{.tasks = tasks, .task = task, .context = context, .failed = tasks};
  const auto body = [](void* p) {
    Loop& l = *static_cast<Loop*>(p);
    for (int64_t i = 0; (i = l.next.fetch_add(1, std::memory_order_relaxed)) < l.tasks;) {
      try {
        l.task(l.context, i);
      } catch (...) {
        const std::lock_guard lock(l.failing);
        if (i >= l.failed) continue;
        l.failed = i;
        l.first = std::current_exception();
      }
    }
  };
  run_on_crew(std::min<int64_t>(threads(), tasks), body, &loop);
  if (loop.first) std::rethrow_exception(loop.first);
}

void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context) {
  if (tasks <= 1 || threads() == 1 || t_inside) {
    for (int64_t r = 0; r < rounds; ++r)
      for (int64_t i = 0; i < tasks; ++i) task(context, r, i);
    return;
  }
  struct Loop {
    int64_t rounds, tasks, members;
    void (*task)(void*, int64_t, int64_t);
    void* context;
    std::atomic<int64_t>* next;  // of each task: the round that nobody has taken yet
    std::atomic<int64_t> done = 0, arrived = 0;
  } loop{.rounds = rounds,
         .tasks = tasks,
         .members = std::min<int64_t>(threads(), tasks),
         .task = task,
         .context = context,
         .next = scratch<std::atomic<int64_t>>(Scratch::rounds, tasks)};
  std::uninitialized_value_construct_n(loop.next, tasks);
  const auto body = [](void* p) {
    Loop& l = *static_cast<Loop*>(p);
    const int64_t own = l.arrived++ * l.tasks / l.members;
    for (int64_t r = l.done / l.tasks; r < l.rounds; ++r) {
      for (int64_t k = 0; k < l.tasks; ++k) {
        const int64_t i = (own + k) % l.tasks;
        int64_t round = r;
        if (l.next[i].load(std::memory_order_relaxed) != r ||
            !l.next[i].compare_exchange_strong(round, r + 1))
          continue;
        l.task(l.context, r, i);
        ++l.done;
      }
      wait_until([&] { return l.done >= (r + 1) * l.tasks; });
    }
  };
  run_on_crew(loop.members, body, &loop);
}

}  // namespace detail
}  // namespace nine
