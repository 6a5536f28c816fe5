#include "apps/cli/signals.h"

#include <csignal>

#include <atomic>

namespace nine::app {
namespace {

std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "the handler may only touch what needs no lock");

extern "C" void remember_signal(int signal) {
  int none = 0;
  caught.compare_exchange_strong(none, signal, std::memory_order_relaxed);
}

void install(int signal, int flags) {
  struct sigaction old {};
  sigaction(signal, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = remember_signal;
  action.sa_flags = flags | SA_RESTART;  // so that writing a checkpoint does not fail with EINTR
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void restore(int signal) {
  struct sigaction old {};
  sigaction(signal, nullptr, &old);
  if (old.sa_handler == remember_signal) std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  install(SIGINT, static_cast<int>(SA_RESETHAND));
  install(SIGTERM, 0);
  install(SIGUSR1, 0);
}

int interrupted() { return caught.load(std::memory_order_relaxed); }

void release_interrupts() {
  restore(SIGINT);
  restore(SIGTERM);
  restore(SIGUSR1);
  caught.store(0, std::memory_order_relaxed);
}

}  // namespace nine::app
