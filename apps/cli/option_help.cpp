#include "apps/cli/option_help.h"

#include <algorithm>

#include "core/error.h"

namespace nine::app {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kColumn = 30;  // where descriptions start

std::string placeholder(const OptionData& option) {
  if (option.positional || option.is_switch()) return {};
  if (!option.unit.empty()) return " " + option.unit;
  struct Word {
    std::string operator()(const bool*) const { return ""; }
    std::string operator()(const int*) const { return " N"; }
    std::string operator()(const int64_t*) const { return " N"; }
    std::string operator()(const uint64_t*) const { return " N"; }
    std::string operator()(const double*) const { return " X"; }
    std::string operator()(const std::string*) const { return " TEXT"; }
    std::string operator()(const std::vector<std::string>*) const { return " TEXT..."; }
    std::string operator()(const std::array<double, 2>*) const { return " X,X"; }
    std::string operator()(const TextField* field) const {
      return concat(" ", field->placeholder());
    }
  };
  return std::visit(Word{}, option.field);
}

std::string left_side(const OptionData& option) {
  if (option.positional) return option.name + (option.takes_many() ? "..." : "");
  if (option.built_in)
    return (option.name == "help" ? "-h, --" : "--") + option.name + placeholder(option);
  if (option.is_switch()) return "--[no-]" + option.name;
  return "--" + option.name + placeholder(option);
}

// "learning rate (above 0; default 0.001)"
std::string right_side(const OptionData& option) {
  std::vector<std::string> notes;
  if (!option.choices.empty()) notes.push_back(comma_separated(option.choices));
  if (const std::string bounds = bounds_text(option.bounds); !bounds.empty())
    notes.push_back(bounds);
  if (option.required) {
    notes.emplace_back("required");
  } else if (!option.built_in && !option.default_text.empty()) {
    notes.push_back("default " + option.default_text);
  }
  std::string out = option.help;
  for (size_t i = 0; i < notes.size(); ++i) out += (i == 0 ? " (" : "; ") + notes[i];
  return notes.empty() ? out : out + ")";
}

// `text` at column `indent`, broken at blanks; the first line continues one that is `used` columns
// long.
std::string wrapped(const std::string& text, size_t indent, size_t used) {
  std::string out;
  size_t column = used;
  size_t start = 0;
  while (start < text.size()) {
    const size_t stop = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, stop - start);
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += " ";
      ++column;
    }
    out += word;
    column += word.size();
    start = stop + 1;
  }
  return out;
}

std::string entry(const OptionData& option) {
  std::string out = "  " + left_side(option);
  if (out.size() + 2 > kColumn) {
    out += "\n" + std::string(kColumn, ' ');
  } else {
    out += std::string(kColumn - out.size(), ' ');
  }
  return out + wrapped(right_side(option), kColumn, kColumn) + "\n";
}

std::string usage_line(const std::string& program, const OptionList& options) {
  std::string out = "usage: " + program + " [options]";
  for (const OptionData* option : options)
    if (option->positional)
      out += option->required ? " " + left_side(*option) : " [" + left_side(*option) + "]";
  return out + "\n";
}

}  // namespace

std::string help_page(const std::string& program, const std::string& description,
                      const OptionList& options) {
  std::string out = wrapped(description, 0, 0) + "\n\n" + usage_line(program, options);
  std::vector<std::string> groups;
  for (const OptionData* option : options)
    if (std::find(groups.begin(), groups.end(), option->group) == groups.end())
      groups.push_back(option->group);
  for (const std::string& group : groups) {
    out += "\n" + group + ":\n";
    for (const OptionData* option : options)
      if (option->group == group) out += entry(*option);
  }
  return out;
}

}  // namespace nine::app
