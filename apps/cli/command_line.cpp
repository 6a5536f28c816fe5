// CLI11 only splits the command line. Values, checks, configuration files and help are done in
// apps/cli: CLI11 converts more leniently (0x10 is a number, 1e400 is infinity), and its messages
// neither suggest a flag nor say how to mend the command.
#include "apps/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine::app {
namespace {

using Strings = std::vector<std::string>;
constexpr int kMostValues = 1 << 20;  // CLI11 splits "[a,b]" in options without such a bound

bool is_long_flag(const std::string& argument) {
  return argument.size() > 2 && argument.starts_with("--");
}

Strings flag_names(const OptionList& options) {
  Strings names;
  for (const OptionData* option : options) {
    if (option->positional) continue;
    names.push_back(option->name);
    if (option->is_switch() && !option->built_in) names.push_back("no-" + option->name);
  }
  return names;
}

const OptionData* find_flag(const OptionList& options, std::string_view name) {
  for (const OptionData* option : options) {
    if (option->positional) continue;
    if (option->name == name) return option;
    if (option->is_switch() && !option->built_in && name.starts_with("no-") &&
        name.substr(3) == option->name)
      return option;
  }
  return nullptr;
}

[[noreturn]] void fail_missing(const OptionData& option, const std::string* next) {
  std::string text =
      concat(option.typed(), " needs a value: ",
             option.unit.empty() || !option.choices.empty() ? valid_text(option) : option.unit);
  if (next && *next != "--")
    text += concat(", but ", quote(*next), " follows; for a value that begins with dashes write ",
                   option.typed(), "=", shortened(*next));
  throw UsageError(text);
}

// The arguments before a "--", which CLI11 parses, and those after it, which are positional even if
// they begin with dashes.
struct Split {
  Strings flags;
  Strings plain;
};

// One argument and what belongs to it. Finds values that are missing, which CLI11 would fill with
// the next flag, and turns "--x=" into two arguments, since CLI11 would take the next one for its
// value.
void take_argument(const OptionList& options, const std::string& argument, const std::string* next,
                   Strings& out) {
  out.push_back(argument);
  const size_t equals = argument.find('=');
  const OptionData* option =
      is_long_flag(argument) ? find_flag(options, std::string_view(argument).substr(2, equals - 2))
                             : nullptr;
  if (!option) return;
  if (option->is_switch()) {
    if (equals == std::string::npos) return;
    throw UsageError(concat(shortened(argument), ": takes no value; write --", option->name,
                            option->built_in ? "" : " or --no-" + option->name));
  }
  if (equals == argument.size() - 1) {
    out.back().pop_back();
    out.emplace_back();
  } else if (equals == std::string::npos && (!next || next->starts_with("--"))) {
    fail_missing(*option, next);
  }
}

Split split(const OptionList& options, const Strings& arguments) {
  Split out;
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (auto argument = arguments.begin(); argument != end; ++argument) {
    const auto next = argument + 1;
    take_argument(options, *argument, next != arguments.end() ? &*next : nullptr, out.flags);
  }
  if (end != arguments.end()) out.plain.assign(end + 1, arguments.end());
  return out;
}

[[noreturn]] void fail_unknown(const OptionList& options, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  throw UsageError(
      concat("unknown option ", shortened(name), did_you_mean(name, flag_names(options), "--")));
}

[[noreturn]] void fail_unexpected(const OptionList& options, const std::string& argument) {
  const bool takes_some = std::any_of(options.begin(), options.end(),
                                      [](const OptionData* o) { return o->positional; });
  throw UsageError(concat("unexpected argument ", quote(argument), ": ",
                          takes_some ? "there is one too many" : "only options are taken",
                          did_you_mean(argument, flag_names(options), "--")));
}

// Adds plain arguments to the texts of the positional options in their order.
void assign_positional(const OptionList& options, const Strings& plain,
                       std::vector<Strings>& texts) {
  size_t next = 0;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!options[i]->positional) continue;
    const size_t count =
        options[i]->takes_many() ? plain.size() - next : std::min<size_t>(1, plain.size() - next);
    for (size_t k = 0; k < count; ++k) texts[i].push_back(plain[next++]);
  }
  if (next < plain.size()) fail_unexpected(options, plain[next]);
}

// The CLI11 option of a flag; null for positional ones, where CLI11 2.1 either stops after one or
// splits "[a,b]".
CLI::Option* declare(CLI::App& app, const OptionData& option) {
  if (option.positional) return nullptr;
  const std::string flag = "--" + option.name;
  CLI::Option* declared = nullptr;
  if (option.is_switch()) {  // its texts are "true" and, of the name after "!", "false"
    declared = app.add_flag(option.built_in ? flag : flag + ",!--no-" + option.name);
  } else {
    declared = app.add_option(flag)->expected(1, option.takes_many() ? kMostValues : 1);
    declared->allow_extra_args(false);
  }
  return declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

std::vector<Strings> read_command_line(const OptionList& options, const Strings& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<CLI::Option*> flags;
  for (const OptionData* option : options) flags.push_back(declare(app, *option));
  const auto [given, after] = split(options, arguments);
  try {
    app.parse(Strings(given.rbegin(), given.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  Strings plain = app.remaining();
  for (const std::string& argument : plain)
    if (argument.size() > 1 && argument[0] == '-') fail_unknown(options, argument);
  plain.insert(plain.end(), after.begin(), after.end());
  std::vector<Strings> texts;
  for (size_t i = 0; i < options.size(); ++i) {
    texts.push_back(flags[i] ? flags[i]->results() : Strings());
    if (texts.back().size() > 1 && !options[i]->takes_many())
      throw UsageError(
          concat(options[i]->typed(), " is given ", texts.back().size(), " times; give it once"));
  }
  assign_positional(options, plain, texts);
  return texts;
}

}  // namespace nine::app
