// Parallel loops on OpenMP's threads; OMP_PLACES, OMP_PROC_BIND and OMP_THREAD_LIMIT say where they
// run and how many there may be. Work is cut into tasks by shapes, never by the number of threads,
// so that results do not depend on that number.
//
// A program opens one team around its run, in_team(): free threads of the team join a running loop
// and take tasks from it, and a loop never waits for a thread to wake up, as the calling thread can
// run every task itself. Without a team each loop is a region of its own, at whose end all of its
// threads meet. In a child of fork() loops run serially.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

namespace nine {

/// Cores of this machine, hyper-threads counted once, that this process may use.
int physical_cores();
/// How many threads ops use unless told: OMP_NUM_THREADS, else physical_cores(), no more than
/// OMP_THREAD_LIMIT.
int default_threads();
/// From now on ops use this many threads, the calling one included. Errors: outside of 1 to 4096;
/// more than the open team has.
void set_threads(int count);
/// The number of threads that ops use; default_threads() unless set_threads() was called.
int threads();

/// Runs body() on this thread, which has a team of threads() for the loops in it. The system may
/// give the team fewer. What body throws reaches the caller. A team inside of a team is that team.
void in_team(const std::function<void()>& body);

namespace detail {
void parallel_run(int64_t tasks, void (*task)(void*, int64_t), void* context);
void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context);
}  // namespace detail

/// A loop with fewer operations than this runs serially: waking threads costs more (about five
/// microseconds).
inline constexpr double kMinOperationsPerLoop = 5e5;
/// The same for one round of parallel_rounds, which costs a barrier.
inline constexpr double kMinOperationsPerBarrier = 1e5;
/// A number of operations that is always worth the threads.
inline constexpr double kAlwaysParallel = 1e30;

/// Runs f(0) ... f(tasks - 1) on several threads, or serially when `operations` (of all tasks
/// together) is below kMinOperationsPerLoop. Tasks must not depend on each other. If tasks throw,
/// the exception of the lowest-numbered one is rethrown. A loop inside a task runs serially, unless
/// the outer one did so itself.
template <class F>
void parallel_for(int64_t tasks, F&& f, double operations = kAlwaysParallel) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kMinOperationsPerLoop) {
    for (int64_t i = 0; i < tasks; ++i) f(i);
    return;
  }
  detail::parallel_run(
      tasks, [](void* c, int64_t i) { (*static_cast<Fn*>(c))(i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

/// Cuts [0, n) into ranges of `grain` elements (the last one may have fewer) and runs f(begin, end)
/// for each range, as parallel_for does.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, F&& f, double operations = kAlwaysParallel) {
  const int64_t tasks = (n + grain - 1) / grain;
  parallel_for(
      tasks, [&](int64_t t) { f(t * grain, (t + 1) * grain < n ? (t + 1) * grain : n); },
      operations);
}

/// Runs f(round, task) for every task of round 0, then of round 1, and so on, with a barrier
/// between rounds. From round to round a task usually runs on the same thread, so that its data
/// stays in that core's cache; if that thread is late, another one runs the task. Runs serially
/// when `operations` (of one round) is below kMinOperationsPerBarrier. After a call of f
/// that throws, later calls are left out, and the exception reaches the caller.
template <class F>
void parallel_rounds(int64_t rounds, int64_t tasks, F&& f, double operations = kAlwaysParallel) {
  using Fn = std::remove_reference_t<F>;
  if (operations < kMinOperationsPerBarrier) {
    for (int64_t r = 0; r < rounds; ++r)
      for (int64_t i = 0; i < tasks; ++i) f(r, i);
    return;
  }
  detail::parallel_rounds(
      rounds, tasks, [](void* c, int64_t r, int64_t i) { (*static_cast<Fn*>(c))(r, i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace nine
