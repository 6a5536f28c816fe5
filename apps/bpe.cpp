// bpe: byte pair encoding: learns codes, applies them to text, undoes them, counts subwords. Parses
// and calls; the commands are in apps/bpe/, the algorithms in data/.
#include <malloc.h>

#include <cstdio>
#include <deque>
#include <iostream>
#include <string_view>
#include <vector>

#include "apps/bpe/bpe_commands.h"
#include "apps/cli/completion.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/processes.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "core/error.h"
#include "core/quote.h"
#include "core/threads.h"

namespace nine::app {
namespace {

struct Command {
  const char *name, *program;  // `program` is in errors, which point to its own --help
  void (*run)(const BpeFlags&);
  const char* what;  // the first sentence of its help
};
constexpr Command kCommands[] = {
    {"learn", "bpe learn", learn_codes, "Learns codes of byte pair encoding (BPE) from text"},
    {"apply", "bpe apply", apply_codes, "Cuts the words of a text into subwords"},
    {"undo", "bpe undo", undo_codes, "Joins subwords to words"},
    {"vocab", "bpe vocab", write_vocabulary, "Counts the subwords of a text"},
    {"convert", "bpe convert", convert_tokenizer, "Writes a tokenizer in another format"}};

int run_command(const Command& command, int argc, char** argv) {
  Options options(command.program,
                  concat(command.what,
                         ". The files have the format of subword-nmt 0.3, or of Hugging Face "
                         "tokenizers."),
                  version_text);
  BpeFlags o;
  o.declare(options, command.name);
  if (!options.parse(argc - 1, argv + 1)) return kExitDone;
  o.check(command.name);
  o.check_idle(options, command.name);
  require_one_process();
  o.resolve(options, command.name);
  if (o.num_workers > 0) set_threads(o.num_workers);
  in_team([&] { command.run(o); });
  return kExitDone;
}

int print_completion() {
  BpeFlags o;
  std::deque<Options> options;  // the lists point into it
  std::vector<CommandOptions> commands;
  for (const Command& command : kCommands) {
    o.declare(options.emplace_back(command.program, "", version_text), command.name);
    commands.push_back({command.name, options.back().declared()});
  }
  std::cout << bash_completion("bpe", commands, {"--help", "--version", "--completion"});
  return kExitDone;
}

// What is asked before a command: help, the version, completion.
int run(std::string_view asked, std::string_view value) {
  if (asked == "--help" || asked == "-h") return std::puts(kBpeHelp), kExitDone;
  if (asked == "--version") return std::fputs(version_text().c_str(), stdout), kExitDone;
  if (asked == "--completion") {
    require_usage(value == "bash", "--completion knows one shell: --completion bash");
    return print_completion();
  }
  throw UsageError(asked.empty() ? "a command is missing: learn, apply, undo, vocab or convert"
                                 : concat("unknown command ", quote(asked),
                                          ": learn, apply, undo, vocab or convert"));
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  // Keeps large tables in mappings of their own, which return to the system when a table grows.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  std::ios::sync_with_stdio(false);
  using namespace nine::app;
  const std::string_view asked = argc > 1 ? argv[1] : "";
  for (const Command& command : kCommands)
    if (asked == command.name)
      return run_main(command.program, [&] { return run_command(command, argc, argv); });
  return run_main("bpe", [&] { return run(asked, argc > 2 ? argv[2] : ""); });
}
