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

/// Runs f(0) ... f(tasks - 1), spread over the threads. Tasks must not depend on each other. The exception of the
/// lowest failing task is rethrown. Inside a task it runs serially.
template <class F>
void parallel_for(int64_t tasks, F&& f) {
  using Fn = std::remove_reference_t<F>;
  detail::parallel_run(tasks, [](void* c, int64_t i) { (*static_cast<Fn*>(c))(i); }, const_cast<void*>(static_cast<const void*>(&f)));
}

/// Cuts [0, n) into pieces of `grain` elements (the last may be short) and runs f(begin, end) on each.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, F&& f) {
  const int64_t tasks = (n + grain - 1) / grain;
  parallel_for(tasks, [&](int64_t t) { f(t * grain, (t + 1) * grain < n ? (t + 1) * grain : n); });
}

/// Runs f(thread, team_size) once on every thread at the same time; for loops that meet at a Barrier.
/// f must not throw.
template <class F>
void parallel_team(F&& f) {
  using Fn = std::remove_reference_t<F>;
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
