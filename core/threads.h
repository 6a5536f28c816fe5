// Parallel loops on OpenMP's threads. OMP_PLACES, OMP_PROC_BIND and OMP_THREAD_LIMIT control the
// placement and the number of threads. Shapes alone determine how work is cut into tasks, so that
// results do not depend on the number of threads.
//
// A program opens one team around its run with in_team(). Idle threads of the team help with a
// running loop. The calling thread never waits for a thread to wake up, as it can run every task
// itself. Without a team each loop opens an OpenMP region, at whose end all threads meet. In a
// child of fork() loops run serially.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

namespace nine {

/// Returns the number of this machine's cores that the process may use. Hyper-threads of one core
/// count once.
int physical_cores();
/// Returns the number of threads before set_threads(): OMP_NUM_THREADS or else physical_cores(), at
/// most OMP_THREAD_LIMIT.
int default_threads();
/// Sets the number of threads of later ops, the calling thread included. Errors: a number outside
/// of 1 to 4096; more threads than the open team has.
void set_threads(int count);
/// Returns the number of threads that ops use: default_threads() unless set_threads() was called.
int threads();

/// Runs body() on this thread with a team of threads() threads for the loops in it. The system may
/// give the team fewer threads. An exception of body() reaches the caller. Nested calls reuse the
/// outer team.
void in_team(const std::function<void()>& body);

namespace detail {
void parallel_run(int64_t tasks, void (*task)(void*, int64_t), void* context);
void parallel_rounds(int64_t rounds, int64_t tasks, void (*task)(void*, int64_t, int64_t),
                     void* context);
}  // namespace detail

/// The least operations of a parallel loop. A smaller loop runs serially, because waking threads
/// costs about five microseconds.
inline constexpr double kMinOperationsPerLoop = 5e5;
/// The least operations of one round of parallel_rounds(). A smaller round runs serially, because a
/// round costs a barrier.
inline constexpr double kMinOperationsPerBarrier = 1e5;
/// A number of operations above both limits: the loop always runs in parallel.
inline constexpr double kAlwaysParallel = 1e30;

/// Runs f(0) ... f(tasks - 1) on several threads, or serially if `operations` (of all tasks
/// together) is below kMinOperationsPerLoop. Tasks must not depend on each other. If tasks throw,
/// the exception of the lowest-numbered task is rethrown. A loop inside a task runs serially,
/// unless the outer loop runs serially itself.
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
/// between rounds. From round to round a task usually runs on the same thread, so that the task's
/// data stays in the core's cache. If that thread is still busy, an idle thread runs the task. Runs
/// serially when `operations` (of one round) is below kMinOperationsPerBarrier. If a call of f
/// throws, later calls are left out, and the exception reaches the caller.
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
