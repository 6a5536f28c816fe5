// The script that completes a program's command line in bash: what --completion bash prints.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/option_data.h"

namespace nine::app {

/// The commands of a program such as bpe: what is typed ("learn"), and the options after it.
struct CommandOptions {
  std::string name;
  OptionList options;
};

/// A script for bash that completes names of options, their values where these are a list, and
/// names of files and directories where an option takes them. It needs nothing but bash.
std::string bash_completion(const std::string& program, const OptionList& options);
/// The same for a program whose first argument is one of `commands` or one of `flags`.
std::string bash_completion(const std::string& program, const std::vector<CommandOptions>& commands,
                            const std::vector<std::string>& flags);

}  // namespace nine::app
