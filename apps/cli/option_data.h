// The description of one flag, inside Options.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/option_field.h"

namespace nine::app {

/// The numbers that a flag accepts.
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
  std::string setting;       // its name in error messages of the libraries: "learning rate"
  Bounds bounds;
  std::vector<std::string> choices;
  std::string older_name;                                        // without dashes in front
  std::vector<std::pair<std::string, std::string>> older_words;  // older words of values, and the
                                                                 // present words
  std::function<void(const std::string&)> check;
  bool positional = false;
  bool built_in = false;  // true if the flag is not part of a configuration
  bool required = false;
  bool may_be_empty = false;  // true for a text that is empty by default
  bool set = false;
  bool named = false;       // true if the flag was given, also with its default value
  bool typed_here = false;  // true if the flag was given on the command line

  bool is_switch() const { return std::holds_alternative<bool*>(field); }
  bool takes_many() const { return std::holds_alternative<std::vector<std::string>*>(field); }
  /// True if its values are names of files or directories.
  bool names_files() const;
  /// Returns the flag as it is typed: --lr, RUN.
  std::string typed() const { return positional ? name : "--" + name; }
  /// Returns the present word for a value under the older name. UsageError: the older name had no
  /// such value.
  std::string present_word(const std::string& older) const;
  /// Returns its key in a configuration: batch_tokens.
  std::string key() const;
};

using OptionList = std::vector<const OptionData*>;

/// Return the key of a flag in a configuration (batch_tokens for batch-tokens), and the flag of a
/// key. Both are without dashes in front.
std::string key_of(std::string flag);
std::string flag_of(std::string key);
/// Returns what a value must be, with bounds and choices: "a whole number from 1 to 64".
std::string valid_text(const OptionData& option);
/// Returns the bounds only: "1 to 64", "above 0"; empty without bounds.
std::string bounds_text(const Bounds& bounds);

}  // namespace nine::app
