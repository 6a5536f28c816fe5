// bpe: byte pair encoding: learns codes, applies them to text, undoes them, counts subwords. Parses
// and calls; the commands are in apps/bpe/, the algorithms in data/.
#include <cstdio>
#include <iostream>
#include <string_view>

#include "apps/bpe/bpe_commands.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "core/error.h"
#include "core/threads.h"

namespace nine::app {
namespace {

struct Command {
  const char *name, *program;  // `program` is in errors, which point to its own --help
  void (*run)(const BpeFlags&);
};
constexpr Command kCommands[] = {{"learn", "bpe learn", learn_codes},
                                 {"apply", "bpe apply", apply_codes},
                                 {"undo", "bpe undo", undo_codes},
                                 {"vocab", "bpe vocab", write_vocabulary}};

int run_command(const Command& command, int argc, char** argv) {
  Options options(command.program, "Byte pair encoding, files as of subword-nmt 0.3.",
                  version_text);
  BpeFlags o;
  o.declare(options, command.name);
  if (!options.parse(argc - 1, argv + 1)) return kExitDone;
  o.check(command.name);
  if (o.num_workers > 0) set_threads(o.num_workers);
  in_team([&] { command.run(o); });
  return kExitDone;
}

// What is asked before a command: help, the version.
int run(std::string_view asked) {
  if (asked == "--help" || asked == "-h") return std::puts(kBpeHelp), kExitDone;
  if (asked == "--version") return std::fputs(version_text().c_str(), stdout), kExitDone;
  throw UsageError(asked.empty()
                       ? "a command is missing: learn, apply, undo or vocab"
                       : concat("unknown command '", asked, "': learn, apply, undo or vocab"));
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  using namespace nine::app;
  const std::string_view asked = argc > 1 ? argv[1] : "";
  for (const Command& command : kCommands)
    if (asked == command.name)
      return run_main(command.program, [&] { return run_command(command, argc, argv); });
  return run_main("bpe", [&] { return run(asked); });
}
