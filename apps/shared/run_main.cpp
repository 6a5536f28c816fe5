#include "apps/shared/run_main.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

#include "core/error.h"

namespace nine::app {
namespace {

// libgomp's idle threads spin for milliseconds before they sleep, which on a machine with other work to do keeps that work,
// and our own next step, from running (five times slower was seen). Some thirty microseconds bridge the gaps between
// ops as well. libgomp reads the variable when it is loaded, before any constructor of ours: hence .preinit_array. A
// setting of the user's stands.
void bound_idle_spinning(int, char**, char**) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "10000", 0);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const g_bound_idle_spinning)(int, char**, char**) = bound_idle_spinning;

int say(const char* program, const char* message) {
  std::fprintf(stderr, "%s: %s\n", program, message);
  return kExitFailed;
}

int flushed(const char* program, int code) {
  const bool written = std::cout.flush() && std::fflush(stdout) == 0;
  return written || code != kExitDone ? code : say(program, "standard output could not be written in full; is its disk full?");
}

}  // namespace

int run_main(const char* program, const std::function<int()>& body) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is then an error that names it, not the end without a word
  try {
    return flushed(program, body());
  } catch (const UsageError& e) {
    say(program, e.what());
    std::fprintf(stderr, "try '%s --help'\n", program);
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    return say(program, "out of memory; take smaller batches or a smaller model");
  } catch (const std::exception& e) {
    return say(program, e.what());
  } catch (...) {
    return say(program, "failed for a reason that it cannot name");
  }
}

}  // namespace nine::app
