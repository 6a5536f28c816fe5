// bpe: byte pair encoding: learns codes, applies them to text, undoes them, counts subwords. Parses
// and calls; the commands are in apps/bpe/, the algorithms in data/.
#include <cstdio>
#include <iostream>
#include <map>

#include "apps/bpe/bpe_commands.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "core/error.h"
#include "core/threads.h"

namespace nine::app {
namespace {

int run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") return std::puts(kBpeHelp), kExitDone;
  if (command == "--version") return std::puts(kVersionLine), kExitDone;
  const std::map<std::string, void (*)(const BpeFlags&)> commands{{"learn", learn_codes},
                                                                  {"apply", apply_codes},
                                                                  {"undo", undo_codes},
                                                                  {"vocab", write_vocabulary}};
  if (!commands.contains(command))
    throw UsageError(
        concat(command.empty() ? "a command is missing" : "unknown command '" + command + "'",
               ": learn, apply, undo or vocab"));
  Options options("bpe " + command, "Byte pair encoding, files as of subword-nmt 0.3.",
                  kVersionLine);
  BpeFlags o;
  o.declare(options, command);
  if (!options.parse(argc - 1, argv + 1)) return kExitDone;
  o.check(command);
  if (o.num_workers > 0) set_threads(o.num_workers);
  commands.at(command)(o);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return nine::app::run_main("bpe", [&] { return nine::app::run(argc, argv); });
}
