// Threads: work is cut by shapes, never by the number of threads, so that results do not depend on
// it. Nor does a loop wait for a thread that has not come: who comes takes tasks, and the caller
// alone can do them all.
#pragma once

#include <cstdint>
#include <type_traits>

namespace nine {

/// Cores of this machine, hyper-threads counted once, within the process's affinity mask.
int physical_cores();
/// From now on ops use this many threads (>= 1); the default is physical_cores().
void set_threads(int count);
int threads();

namespace detail {
void parallel_run(int64_t tasks, void (*task)(void*, int64_t), void* context);
void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context);
}  // namespace detail

/// Work below this many operations is not worth waking threads for (about five microseconds).
inline constexpr double kWorthThreads = 5e5;
inline constexpr double kWorthMeeting = 1e5;  ///< the same for a round of parallel_rounds
inline constexpr double kMuchWork = 1e30;

/// Runs f(0) ... f(tasks - 1), spread over the threads when `operations`, all tasks together, are
/// worth it. Tasks must not depend on each other. The exception of the lowest failing task is
/// rethrown. Inside a task it runs serially.
template <class F>
void parallel_for(int64_t tasks, F&& f, double operations = kMuchWork) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kWorthThreads) {
    for (int64_t i = 0; i < tasks; ++i) f(i);
    return;
  }
  detail::parallel_run(
      tasks, [](void* c, int64_t i) { (*static_cast<Fn*>(c))(i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

/// Cuts [0, n) into pieces of `grain` elements (the last may be short) and runs f(begin, end) on
/// each.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, F&& f, double operations = kMuchWork) {
  const int64_t tasks = (n + grain - 1) / grain;
  parallel_for(
      tasks, [&](int64_t t) { f(t * grain, (t + 1) * grain < n ? (t + 1) * grain : n); },
      operations);
}

/// Runs f(round, task) for every task of round 0, then of round 1, ...: a round begins when all
/// tasks of the one before it are done. A task keeps to one thread, in whose cache its data then
/// stays, unless that thread is late. Serially when `operations`, those of one round, are not worth
/// more. f must not throw.
template <class F>
void parallel_rounds(int64_t rounds, int64_t tasks, F&& f, double operations = kMuchWork) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kWorthMeeting) {
    for (int64_t r = 0; r < rounds; ++r)
      for (int64_t i = 0; i < tasks; ++i) f(r, i);
    return;
  }
  detail::parallel_rounds(
      rounds, tasks, [](void* c, int64_t r, int64_t i) { (*static_cast<Fn*>(c))(r, i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace nine
