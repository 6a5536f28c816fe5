// Threads: work is cut by shapes, never by the number of threads, so that results do not depend on it.
#pragma once

#include <atomic>
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
void parallel_team(void (*body)(void*, int, int), void* context);
}  // namespace detail

/// Work below this many operations is not worth waking threads for (about five microseconds).
inline constexpr double kWorthThreads = 5e5;
inline constexpr double kWorthMeeting = 1e5;  ///< the same between two barriers of a running team
inline constexpr double kMuchWork = 1e30;

/// Runs f(0) ... f(tasks - 1), spread over the threads when `operations`, all tasks together, are worth it. Tasks must
/// not depend on each other. The exception of the lowest failing task is rethrown. Inside a task it runs serially.
template <class F>
void parallel_for(int64_t tasks, F&& f, double operations = kMuchWork) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kWorthThreads) {
    for (int64_t i = 0; i < tasks; ++i) f(i);
    return;
  }
  detail::parallel_run(
      tasks, [](void* c, int64_t i) { (*static_cast<Fn*>(c))(i); }, const_cast<void*>(static_cast<const void*>(&f)));
}

/// Cuts [0, n) into pieces of `grain` elements (the last may be short) and runs f(begin, end) on each.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, F&& f, double operations = kMuchWork) {
  const int64_t tasks = (n + grain - 1) / grain;
  parallel_for(
      tasks, [&](int64_t t) { f(t * grain, (t + 1) * grain < n ? (t + 1) * grain : n); }, operations);
}

/// Runs f(thread, team_size) once on every thread at the same time; for loops that meet at a Barrier. A team of one when
/// `operations` between two meetings are not worth more. f must not throw.
template <class F>
void parallel_team(F&& f, double operations = kMuchWork) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kWorthMeeting) return f(0, 1);
  detail::parallel_team([](void* c, int i, int n) { (*static_cast<Fn*>(c))(i, n); }, const_cast<void*>(static_cast<const void*>(&f)));
}

/// A spinning barrier: a few hundred nanoseconds where an operating-system barrier takes many microseconds.
class Barrier {
 public:
  void wait(int team);  ///< `team`: how many threads meet here, the same in every call

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

}  // namespace nine
