#include "apps/cli/completion.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace nine::app {
namespace {

// Shared by the scripts of all programs, and the same in each, so that any one of them stands by
// itself. bash hands over "--lr=1" as three words, "--lr", "=" and "1".
constexpr std::string_view kFunctions = R"script(
# _nine_option "--a --b": sets `typed` to the word that is being typed and `option` to the option
# whose value it is, or to nothing; --a and --b take several values.
_nine_option() {
  local at=$((COMP_CWORD - 1)) between=0
  typed=${COMP_WORDS[COMP_CWORD]} option=
  if [[ $typed == '=' ]]; then
    typed=
  elif [[ ${COMP_WORDS[at]} == '=' ]]; then
    at=$((at - 1))
  elif [[ $typed == -* ]]; then
    return
  fi
  while ((at > 0)) && [[ ${COMP_WORDS[at]} != -?* ]]; do
    at=$((at - 1)) between=$((between + 1))
  done
  ((at > 0)) || return
  if ((between == 0)) || [[ " $1 " == *" ${COMP_WORDS[at]} "* ]]; then option=${COMP_WORDS[at]}; fi
}
_nine_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$typed"); }
# Where compgen finds none, as in a name that is open with a quote, bash completes by itself.
_nine_paths() {
  mapfile -t COMPREPLY < <(compgen "$1" -- "$typed")
  compopt -o filenames -o default 2> /dev/null
}
_nine_files() { _nine_paths -f; }
_nine_directories() { _nine_paths -d; }
)script";

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// Of a unit such as cpu|cuda[:i] or split|NUMBER, the words that are typed as they stand.
std::vector<std::string> words_of_unit(const std::string& unit) {
  std::vector<std::string> words;
  if (unit.find('|') == std::string::npos) return words;
  for (size_t start = 0; start < unit.size();) {
    const size_t end = std::min(unit.find('|', start), unit.size());
    const std::string word = unit.substr(start, unit.find_first_of("|[", start) - start);
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos)
      words.push_back(word);
    start = end + 1;
  }
  return words;
}

// The command that completes a value of `option`: ":" where nothing is known of it.
std::string values_of(const OptionData& option) {
  std::string unit = option.positional ? option.name : option.unit;
  if (unit.empty())
    if (auto* const* text = std::get_if<TextField*>(&option.field)) unit = (*text)->placeholder();
  const auto words = option.choices.empty() ? words_of_unit(unit) : option.choices;
  if (!words.empty()) return "_nine_words '" + joined(words) + "'";
  if (unit.starts_with("DIR") || unit == "RUN") return "_nine_directories";
  // A checkpoint is a directory, a run's or its own, or a bare file; "A B" are two of them.
  for (const char* file : {"FILE", "IN.json", "CHECKPOINT", "A B"})
    if (unit.starts_with(file)) return "_nine_files";
  return ":";
}

// Options that are completed alike, in one line of the script.
struct Case {
  std::string command;
  std::vector<std::string> flags;
};

std::vector<Case> cases_of(const OptionList& options) {
  std::vector<Case> cases;
  for (const OptionData* option : options) {
    if (option->positional || option->is_switch()) continue;
    const std::string command = values_of(*option);
    auto same = std::find_if(cases.begin(), cases.end(),
                             [&](const Case& c) { return c.command == command; });
    if (same == cases.end()) same = cases.insert(cases.end(), Case{command, {}});
    same->flags.push_back("--" + option->name);
  }
  return cases;
}

std::vector<std::string> flags_of(const OptionList& options) {
  std::vector<std::string> flags;
  for (const OptionData* option : options) {
    if (option->positional) continue;
    flags.push_back("--" + option->name);
    if (option->is_switch() && !option->built_in) flags.push_back("--no-" + option->name);
  }
  return flags;
}

// What completes a word that is no option's value: a positional argument or an option.
std::string other_words(const OptionList& options) {
  std::string flags = "_nine_words \"$flags\"";
  for (const OptionData* option : options)
    if (option->positional)
      return "if [[ $typed == -* ]]; then " + flags + "; else " + values_of(*option) + "; fi";
  return flags;
}

std::string function_of(const std::string& name, const OptionList& options) {
  std::vector<std::string> many;
  for (const OptionData* option : options)
    if (option->takes_many() && !option->positional) many.push_back("--" + option->name);
  std::string out =
      concat(name, "() {\n  local option typed flags='", joined(flags_of(options)),
             "'\n  COMPREPLY=()\n  _nine_option '", joined(many), "'\n  case $option in\n");
  for (const Case& c : cases_of(options))
    out += concat("    ", joined(c.flags, " | "), ") ", c.command, " ;;\n");
  return out + "    *) " + other_words(options) + " ;;\n  esac\n}\n";
}

std::string opening(const std::string& program) {
  return concat("# Completes the command line of ", program, " in bash; written by `", program,
                " --completion bash`.\n", kFunctions, "\n");
}

std::string closing(const std::string& function, const std::string& program) {
  return concat("complete -F ", function, " ", program, "\n");
}

}  // namespace

std::string bash_completion(const std::string& program, const OptionList& options) {
  const std::string function = "_nine_" + program;
  return opening(program) + function_of(function, options) + closing(function, program);
}

std::string bash_completion(const std::string& program, const std::vector<CommandOptions>& commands,
                            const std::vector<std::string>& flags) {
  const std::string function = "_nine_" + program;
  std::string out = opening(program), cases;
  std::vector<std::string> words;
  for (const CommandOptions& command : commands) {
    words.push_back(command.name);
    const std::string own = function + "_" + command.name;
    out += function_of(own, command.options);
    cases += concat("      ", command.name, ") ", own, " ;;\n");
  }
  words.insert(words.end(), flags.begin(), flags.end());
  return out +
         concat(function, "() {\n  local typed=${COMP_WORDS[COMP_CWORD]}\n  COMPREPLY=()\n",
                "  if ((COMP_CWORD == 1)); then\n    _nine_words '", joined(words),
                "'\n  else\n    case ${COMP_WORDS[1]} in\n", cases, "    esac\n  fi\n}\n") +
         closing(function, program);
}

}  // namespace nine::app
