#include "core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nine {
namespace {
int g_threads = 0;
}

int physical_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
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
  if (tasks <= 1 || threads() == 1 || omp_in_parallel()) {
    for (int64_t i = 0; i < tasks; ++i) task(context, i);
    return;
  }
  std::exception_ptr first;
  int64_t failed = tasks;
  const int team = static_cast<int>(std::min<int64_t>(threads(), tasks));
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
  for (int64_t i = 0; i < tasks; ++i) {
    try {
      task(context, i);
    } catch (...) {
#pragma omp critical(nine_parallel_run)
      if (i < failed) {
        failed = i;
        first = std::current_exception();
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

void parallel_team(void (*body)(void*, int, int), void* context) {
  const int team = threads();
  if (team == 1 || omp_in_parallel()) return body(context, 0, 1);
#pragma omp parallel num_threads(team)
  body(context, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace detail

void Barrier::wait(int team) {
  if (team == 1) return;
  const int round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == team) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
    if (spins < 1024) {
#if defined(__x86_64__)
      _mm_pause();
#endif
    } else {
      std::this_thread::yield();  // more threads than cores: let the late one run
    }
  }
}

}  // namespace nine
