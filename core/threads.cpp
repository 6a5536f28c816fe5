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
#include <system_error>
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
// True on worker threads, and on a thread while it runs a loop: loops inside of tasks are serial.
thread_local bool t_in_parallel = false;

// About 100 microseconds, longer than the gaps between the loops of a training step.
constexpr int kMaxSpins = 4000;

// Pauses briefly. Returns false once `spins` has reached the limit and spinning is too expensive.
bool spin(int& spins) {
  if (spins >= kMaxSpins) return false;
  ++spins;
#if defined(__x86_64__)
  _mm_pause();
#endif
  return true;
}

template <class F>
void wait_until(F&& done) {
  for (int spins = 0; !done();)
    if (!spin(spins)) std::this_thread::yield();  // with more threads than cores, others must run
}

// The worker threads. Between loops a worker spins for a moment, then sleeps.
class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    stopping_ = true;
    wake_all();
    for (std::thread& t : workers_) t.join();
  }

  // Runs body(context) on this thread and, until it returns here, on up to `max_workers` workers as
  // they become free. Returns when none of them runs it any more.
  void run(int max_workers, void (*body)(void*), void* context) {
    // The pool runs one loop at a time: a second thread of the program runs its loop alone.
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return body(context);
    while (static_cast<int>(workers_.size()) < max_workers) start_worker();
    body_ = body;
    context_ = context;
    max_workers_ = max_workers;
    loop_state_ = ((loop_state_ >> kNumberShift) + 1) << kNumberShift | kOpen;
    if (sleeping_ > 0) wake_all();
    body(context);
    loop_state_ &= ~kOpen;
    wait_until([&] { return (loop_state_ & kActiveWorkers) == 0; });
  }

 private:
  // loop_state_ packs the loop's number (bits 32 and up), whether workers may still join it (bit
  // 31) and how many workers are running it (bits 0 to 30).
  static constexpr int kNumberShift = 32;
  static constexpr uint64_t kOpen = uint64_t{1} << 31, kActiveWorkers = kOpen - 1;

  void start_worker() {
    workers_.reserve(workers_.size() + 1);
    try {
      workers_.emplace_back([this, index = static_cast<int>(workers_.size())] { work(index); });
    } catch (const std::system_error& e) {
      fail("thread ", workers_.size() + 2, " could not be started: ", e.code().message(),
           "; lower the number of threads");
    }
  }

  void wake_all() {
    ++wake_counter_;
    wake_counter_.notify_all();
  }

  void work(int index) {
    t_in_parallel = true;
    for (uint64_t last = 0; !stopping_;) {
      uint64_t state = wait_for_loop(last);
      if ((state & kOpen) == 0) continue;  // the loop has ended already, or the pool is stopping
      last = state >> kNumberShift;
      while (index < max_workers_ && (state & kOpen) != 0 && state >> kNumberShift == last) {
        if (!loop_state_.compare_exchange_weak(state, state + 1)) continue;
        body_(context_);
        --loop_state_;
        break;
      }
    }
  }

  // Waits for an open loop whose number is not `last` and returns the loop state. It also returns
  // after every sleep, whatever the state then is.
  uint64_t wait_for_loop(uint64_t last) {
    const auto has_new_loop = [&] {
      return (loop_state_ & kOpen) != 0 && loop_state_ >> kNumberShift != last;
    };
    for (int spins = 0; !has_new_loop() && !stopping_;) {
      if (spin(spins)) continue;
      const int before = wake_counter_;
      ++sleeping_;
      if (!has_new_loop() && !stopping_) wake_counter_.wait(before);
      --sleeping_;
      break;
    }
    return loop_state_;
  }

  std::mutex busy_;
  std::vector<std::thread> workers_;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<int> max_workers_ = 0, sleeping_ = 0, wake_counter_ = 0;
  std::atomic<bool> stopping_ = false;
  alignas(64) std::atomic<uint64_t> loop_state_ = 0;
};

// Runs body on up to `max_threads` threads, the calling one included.
void run_on_pool(int64_t max_threads, void (*body)(void*), void* context) {
  static ThreadPool pool;
  struct InParallel {
    InParallel() { t_in_parallel = true; }
    ~InParallel() { t_in_parallel = false; }
  } const in_parallel;
  pool.run(static_cast<int>(max_threads) - 1, body, context);
}

// What a loop's tasks have thrown: of several exceptions that of the first task.
class TaskErrors {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // In a catch block: keeps the exception of that task.
  void keep(int64_t task) {
    const std::lock_guard lock(mutex_);
    if (any() && task >= task_) return;
    task_ = task;
    error_ = std::current_exception();
    any_ = true;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  int64_t task_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> any_ = false;
};

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
  if (tasks <= 1 || threads() == 1 || t_in_parallel) {
    for (int64_t i = 0; i < tasks; ++i) task(context, i);
    return;
  }
  struct Loop {
    int64_t tasks;
    void (*task)(void*, int64_t);
    void* context;
    std::atomic<int64_t> next = 0;
    TaskErrors errors;
  } loop{.tasks = tasks, .task = task, .context = context};
  const auto body = [](void* p) {
    Loop& l = *static_cast<Loop*>(p);
    for (int64_t i = 0; (i = l.next.fetch_add(1, std::memory_order_relaxed)) < l.tasks;) {
      try {
        l.task(l.context, i);
      } catch (...) {
        l.errors.keep(i);
      }
    }
  };
  run_on_pool(std::min<int64_t>(threads(), tasks), body, &loop);
  loop.errors.rethrow();
}

void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context) {
  if (tasks <= 1 || threads() == 1 || t_in_parallel) {
    for (int64_t r = 0; r < rounds; ++r)
      for (int64_t i = 0; i < tasks; ++i) task(context, r, i);
    return;
  }
  struct Loop {
    int64_t rounds, tasks, threads;
    void (*task)(void*, int64_t, int64_t);
    void* context;
    std::atomic<int64_t>* next;  // for each task, the first round in which no thread has taken it
    std::atomic<int64_t> done = 0;    // tasks finished, over all rounds
    std::atomic<int64_t> joined = 0;  // threads that have joined the loop
    TaskErrors errors;
  } loop{.rounds = rounds,
         .tasks = tasks,
         .threads = std::min<int64_t>(threads(), tasks),
         .task = task,
         .context = context,
         .next = scratch<std::atomic<int64_t>>(Scratch::rounds, tasks)};
  std::uninitialized_value_construct_n(loop.next, tasks);
  const auto body = [](void* p) {
    Loop& l = *static_cast<Loop*>(p);
    // A thread starts each round at a task of its own, so that tasks stay on their threads.
    const int64_t first = l.joined++ * l.tasks / l.threads;
    for (int64_t r = l.done / l.tasks; r < l.rounds; ++r) {
      for (int64_t k = 0; k < l.tasks; ++k) {
        const int64_t i = (first + k) % l.tasks;
        int64_t round = r;
        if (l.next[i].load(std::memory_order_relaxed) != r ||
            !l.next[i].compare_exchange_strong(round, r + 1))
          continue;
        try {
          if (!l.errors.any()) l.task(l.context, r, i);
        } catch (...) {
          l.errors.keep(r * l.tasks + i);
        }
        ++l.done;
      }
      wait_until([&] { return l.done >= (r + 1) * l.tasks; });
    }
  };
  run_on_pool(loop.threads, body, &loop);
  loop.errors.rethrow();
}

}  // namespace detail
}  // namespace nine
