#include "apps/cli/run_main.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "core/error.h"

namespace nine::app {
namespace {

int say(const char* program, const char* message) {
  std::fprintf(stderr, "%s: %s\n", program, message);
  return kExitFailed;
}

int flushed(const char* program, int code) {
  const bool written = std::cout.flush() && std::fflush(stdout) == 0;
  return written || code != kExitDone
             ? code
             : say(program, "standard output could not be written in full; is its disk full?");
}

}  // namespace

int run_main(const char* program, const std::function<int()>& body) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is then an error that names it, not
                                  // the end without a word
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
