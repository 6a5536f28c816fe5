#include "apps/cli/run_main.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "apps/cli/option_data.h"
#include "apps/cli/processes.h"
#include "apps/cli/setting_flags.h"
#include "apps/cli/short_message.h"
#include "core/error.h"
#include "core/json.h"
#include "core/memory_reserve.h"

namespace nine::app {
namespace {

int report_failure(const char* program, const char* message, int code = kExitFailed) {
  before_report_of_failure();
  std::string text;
  try {
    const std::string plain = json_error_text(message);
    text = plain == message ? short_message(message)
                            : "a JSON file lacks a value, or has one of the wrong type: " + plain;
  } catch (const std::bad_alloc&) {  // where memory has run out, all of it is printed
  }
  std::fprintf(stderr, "%s: %s\n", program, text.empty() ? message : text.c_str());
  if (code == kExitUsage) std::fprintf(stderr, "try '%s --help'\n", program);
  after_report_of_failure(code);
  return code;
}

// A stream that is closed when the program starts would be the number of the next file that is
// opened, and messages would be written into that file. Such a stream is /dev/null, opened so that
// reading input and writing output fail. Before all other constructors: libxsmm's opens a file.
__attribute__((constructor(101))) void hold_standard_streams() {
  constexpr int kMode[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(!open("/dev/null", kMode[stream]));
}

// Before main(): options are made before run_main() is called.
[[maybe_unused]] const bool kReserved = (install_memory_reserve(), true);

// Serves all threads from one heap under a limit of addresses (ulimit -v). To start a thread's own
// heap, the C library maps 128 MiB for a moment, and a pool of another thread then finds too few.
void share_one_heap_under_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// `code`, or failure where standard output could not be written.
int exit_code(const char* program, int code) {
  const bool written = std::cout.flush() && std::fflush(stdout) == 0;
  return written || code != kExitDone
             ? code
             : report_failure(program,
                              "standard output could not be written in full; is its disk full?");
}

// The flags of a program whose lower values need less memory: "; lower --batch or --hidden", or
// nothing where it has none.
std::string memory_advice(const OptionList& options) {
  std::string flags;
  for (const char* setting : {"batch size", "batch tokens", "bptt length", "maximum length", "beam",
                              "hidden size", "embedding size", "number of layers"})
    for (const OptionData* option : options)
      if (option->setting == setting) flags += (flags.empty() ? "" : ", ") + option->typed();
  return flags.empty() ? "" : "; lower one of " + flags;
}

}  // namespace

int run_main(const char* program, const std::function<int()>& body) {
  // A file that grows beyond `ulimit -f` is then an error that names the file; by default it would
  // end the program without a message.
  std::signal(SIGXFSZ, SIG_IGN);
  share_one_heap_under_limit();
  try {
    return exit_code(program, body());
  } catch (const RefusedByFirst&) {
    before_report_of_failure();
    return kExitUsage;
  } catch (const UsageError& e) {
    return report_failure(program, e.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return report_failure(program, "out of memory; smaller batches or a smaller model need less");
  } catch (const std::exception& e) {
    return report_failure(program, e.what());
  } catch (...) {
    return report_failure(program, "failed for a reason that it cannot name");
  }
}

int run_main(const Options& options, const std::function<int()>& body) {
  const auto named = [&](const Error& e) {
    return options.parsed() ? with_setting_flags(e.what(), options.declared()) : e.what();
  };
  return run_main(options.program().c_str(), [&] {
    try {
      return body();
    } catch (const OutOfMemory& e) {
      throw Error(e.what() + memory_advice(options.declared()));
    } catch (const std::bad_alloc&) {
      throw Error("out of memory: the system has no more" + memory_advice(options.declared()));
    } catch (const UsageError& e) {
      throw UsageError(named(e));
    } catch (const Error& e) {
      throw Error(named(e));
    }
  });
}

}  // namespace nine::app
