// Inside Options: the description of one flag.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/option_field.h"

namespace nine::app {

/// Which numbers a flag takes.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
  }
};

/// One flag, or one kind of positional argument.
struct OptionData {
  std::string name;  // without dashes in front
  OptionField field;
  std::string help;
  std::string group;
  std::string unit;
  std::string default_text;  // for the help
  std::string setting;       // its name in errors of the libraries: "learning rate"
  Bounds bounds;
  std::vector<std::string> choices;
  std::string older_name;                                        // without dashes in front
  std::vector<std::pair<std::string, std::string>> older_words;  // and the present ones
  std::function<void(const std::string&)> check;
  bool positional = false;
  bool built_in = false;  // not part of a configuration
  bool required = false;
  bool may_be_empty = false;  // a text that is empty when it is not given
  bool set = false;
  bool named = false;       // given, even as what it is by default
  bool typed_here = false;  // on the command line

  bool is_switch() const { return std::holds_alternative<bool*>(field); }
  bool takes_many() const { return std::holds_alternative<std::vector<std::string>*>(field); }
  /// Whether its values are names of files or directories.
  bool names_files() const;
  /// As it is typed: --lr, RUN.
  std::string typed() const { return positional ? name : "--" + name; }
  /// The present word for a value under the older name; a UsageError for one that is none.
  std::string present_word(const std::string& older) const;
  /// Its key in a configuration: batch_tokens.
  std::string key() const;
};

using OptionList = std::vector<const OptionData*>;

/// The key of a flag in a configuration, batch_tokens of batch-tokens, and the flag of a key; both
/// without dashes in front.
std::string key_of(std::string flag);
std::string flag_of(std::string key);
/// "a whole number from 1 to 64": what a value must be. Bounds and choices included.
std::string valid_text(const OptionData& option);
/// The bounds alone: "1 to 64", "above 0", empty when there are none.
std::string bounds_text(const Bounds& bounds);
/// "sgd, adam".
std::string comma_separated(const std::vector<std::string>& words);

}  // namespace nine::app
