// Inside Options: what is known of a flag, and how texts and JSON become its value.
#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/options.h"

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

/// One flag.
struct OptionData {
  std::string name;  // without dashes in front
  OptionField field;
  std::string help;
  std::string group;
  std::string unit;
  std::string default_text;  // shown by the help
  Bounds bounds;
  std::vector<std::string> choices;
  std::function<void(const std::string&)> check;
  bool positional = false;
  bool built_in = false;  // not part of a configuration
  bool required = false;
  bool may_be_empty = false;  // a text that is empty when it is not given
  bool set = false;

  bool is_switch() const { return std::holds_alternative<bool*>(field); }
  bool takes_many() const { return std::holds_alternative<std::vector<std::string>*>(field); }
  /// As it is typed: --lr, RUN.
  std::string typed() const { return positional ? name : "--" + name; }
  /// As it is called in JSON: batch_tokens.
  std::string key() const;
};

/// "a whole number from 1 to 64": what a value must be. Bounds and choices included.
std::string valid_text(const OptionData& option);
/// The bounds alone: "1 to 64", "above 0", empty when there are none.
std::string bounds_text(const Bounds& bounds);
/// "sgd, adam".
std::string listed(const std::vector<std::string>& words);
/// A field's value for the help; empty for an empty text or list.
std::string shown(const OptionField& field);

/// Sets the field from what the command line gave (at least one text). Throws UsageError.
void set_from_texts(OptionData& option, const std::vector<std::string>& texts);
/// Sets the field from a value in the configuration `file`. Throws UsageError.
void set_from_json(OptionData& option, const nlohmann::ordered_json& value,
                   const std::string& file);
/// The field's value.
nlohmann::ordered_json to_json(const OptionField& field);

/// The page that --help prints, wrapped at 80 columns.
std::string help_page(const std::string& program, const std::string& description,
                      const std::vector<const OptionData*>& options);

/// Splits arguments among the options: one list of texts for each (switches: "true" or "false"),
/// empty where not given. Throws UsageError for unknown flags, missing values, arguments nobody
/// takes, and flags given twice.
std::vector<std::vector<std::string>> read_command_line(
    const std::vector<const OptionData*>& options, const std::vector<std::string>& arguments);

}  // namespace nine::app
