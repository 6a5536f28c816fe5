// Writes the script of --completion bash, which completes a program's command line.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/option_data.h"

namespace nine::app {

/// A command of a program such as bpe: the word that is typed ("learn"), and the options after this
/// word.
struct CommandOptions {
  std::string name;
  OptionList options;
};

/// Returns a script for bash that completes names of options, their values if these are a list, and
/// names of files and directories if an option takes them. The script needs bash only.
std::string bash_completion(const std::string& program, const OptionList& options);
/// Returns the same for a program whose first argument is one of `commands` or one of `flags`.
std::string bash_completion(const std::string& program, const std::vector<CommandOptions>& commands,
                            const std::vector<std::string>& flags);

}  // namespace nine::app
