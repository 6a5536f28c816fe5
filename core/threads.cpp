#include "core/threads.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
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

std::atomic<int> g_threads = 0;  // 0: not determined yet
// True on helpers, and on a thread while it runs a loop: loops inside of tasks are serial.
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
    if (!spin(spins)) std::this_thread::yield();  // more threads than cores: let others run
}

// In a child of fork() OpenMP's threads are missing, and its next region would wait for them. The
// handler is there before main(): the program may fork before its first loop, when another library
// has started OpenMP's threads.
std::atomic<bool> g_forked = false;
[[maybe_unused]] const int g_fork_handler =
    pthread_atfork(nullptr, nullptr, [] { g_forked = true; });

// The helpers of an OpenMP team whose thread 0 runs a program. Between loops a helper spins for a
// moment and then sleeps. A loop does not wait for a thread that has lost its core, unlike the
// barrier at the end of a region.
class Team {
 public:
  explicit Team(int size) : size_(size) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Runs body(context) on this thread and, until it returns here, on up to `max_helpers` helpers as
  // they become free. Returns when no helper runs body any more.
  void run(int max_helpers, void (*body)(void*), void* context) {
    body_ = body;
    context_ = context;
    max_helpers_ = max_helpers;
    loop_state_ = ((loop_state_ >> kNumberShift) + 1) << kNumberShift | kOpen;
    if (sleeping_ > 0) wake_all();
    body(context);
    loop_state_ &= ~kOpen;
    wait_until([&] { return (loop_state_ & kActiveHelpers) == 0; });
  }

  // Runs loops on helper `index` until stop().
  void help(int index) {
    t_in_parallel = true;
    for (uint64_t last = 0; !stopping_;) {
      uint64_t state = wait_for_loop(last);
      if ((state & kOpen) == 0) continue;  // the loop has ended already, or the team is stopping
      last = state >> kNumberShift;
      while (index < max_helpers_ && (state & kOpen) != 0 && state >> kNumberShift == last) {
        if (!loop_state_.compare_exchange_weak(state, state + 1)) continue;
        body_(context_);
        --loop_state_;
        break;
      }
    }
    t_in_parallel = false;
  }
  void stop() {
    stopping_ = true;
    wake_all();
  }

 private:
  // loop_state_ packs the loop's number (bits 32 and up), whether helpers may still join it (bit
  // 31) and how many helpers are running it (bits 0 to 30).
  static constexpr int kNumberShift = 32;
  static constexpr uint64_t kOpen = uint64_t{1} << 31, kActiveHelpers = kOpen - 1;

  void wake_all() {
    ++wake_counter_;
    wake_counter_.notify_all();
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

  const int size_;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<int> max_helpers_ = 0, sleeping_ = 0, wake_counter_ = 0;
  std::atomic<bool> stopping_ = false;
  alignas(64) std::atomic<uint64_t> loop_state_ = 0;
};

std::atomic<Team*> g_team = nullptr;
// Held by the thread that runs a loop. A second thread of the program runs its loop without
// helpers.
std::mutex g_busy;

// Marks, while it lives, that this thread runs a loop.
struct InParallel {
  InParallel() { t_in_parallel = true; }
  ~InParallel() { t_in_parallel = false; }
};

bool is_serial() {
  return threads() == 1 || t_in_parallel || g_forked ||
         (g_team == nullptr && omp_in_parallel() != 0);  // a loop inside of the user's own region
}

// Runs body on up to `max_threads` threads, the calling thread included: with the helpers of the
// open team, or in an OpenMP region. body must not throw.
void run_on_threads(int64_t max_threads, void (*body)(void*), void* context) {
  const std::unique_lock lock(g_busy, std::try_to_lock);
  if (!lock) return body(context);
  const auto wanted = static_cast<int>(max_threads);
  if (Team* team = g_team) {
    const InParallel in_parallel;
    team->run(std::min(wanted, team->size()) - 1, body, context);
    return;
  }
#pragma omp parallel num_threads(wanted)
  {
    const InParallel in_parallel;
    body(context);
  }
}

// The exception of a loop's tasks: of several exceptions the exception of the first task.
class TaskErrors {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Keeps the exception of the task; called in a catch block.
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

namespace {

// Returns the CPUs that this process may use, even if OMP_PROC_BIND has pinned this thread to some
// of them.
std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> of_place(static_cast<size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, of_place.data());
      cpus.insert(cpus.end(), of_place.begin(), of_place.end());
    }
    if (!cpus.empty()) return cpus;
  }
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

int physical_cores() {
  std::set<std::string> cores;
  for (const int cpu : allowed_cpus()) {
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
    std::string line;
    cores.insert(std::getline(siblings, line) ? line : std::to_string(cpu));
  }
  return cores.empty() ? std::max(1, omp_get_num_procs()) : static_cast<int>(cores.size());
}

int default_threads() {
  const char* asked = std::getenv("OMP_NUM_THREADS");
  const int count = asked != nullptr && *asked != '\0' ? omp_get_max_threads() : physical_cores();
  return std::min(count, omp_get_thread_limit());
}

void set_threads(int count) {
  require(count >= 1 && count <= 4096, "the number of threads must be from 1 to 4096, not ", count);
  if (const Team* team = g_team)
    require(count <= team->size(), "the number of threads is ", team->size(),
            " until the end of this run and cannot be raised to ", count);
  g_threads = count;
}

int threads() {
  const int count = g_threads.load(std::memory_order_relaxed);
  if (count > 0) return count;
  g_threads = default_threads();  // several threads may ask first: all of them find the same number
  return g_threads;
}

void in_team(const std::function<void()>& body) {
  if (is_serial() || g_team != nullptr) return body();
  std::optional<Team> team;
  std::exception_ptr error;
#pragma omp parallel num_threads(threads())
  {
#pragma omp single
    team.emplace(omp_get_num_threads());
    if (omp_get_thread_num() > 0) {
      team->help(omp_get_thread_num() - 1);
    } else {
      g_team = &*team;
      try {
        body();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(g_busy);
      g_team = nullptr;
      team->stop();
    }
  }
  if (error) std::rethrow_exception(error);
}

namespace detail {

void parallel_run(int64_t tasks, void (*task)(void*, int64_t), void* context) {
  if (tasks <= 1 || is_serial()) {
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
  run_on_threads(std::min<int64_t>(threads(), tasks), body, &loop);
  loop.errors.rethrow();
}

void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context) {
  if (tasks <= 1 || is_serial()) {
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
  run_on_threads(loop.threads, body, &loop);
  loop.errors.rethrow();
}

}  // namespace detail
}  // namespace nine
