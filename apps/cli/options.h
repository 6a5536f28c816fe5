// The flags of a program. They are declared once and bound to plain fields. Parsing, checks, help,
// --config and the run's config.json follow from the declarations.
//
//   Options o("lm_train", "Trains a language model.", "nine 0.1.0");
//   o.group("Model");
//   o.add("layers", c.layers, "LSTM layers").range(1, 64);
//   o.add("lr", c.lr, "learning rate").above(0).called("learning rate");
//   o.add("optimizer", c.optimizer, "how weights are updated");  // an enumeration with names
//   o.add("train", c.train, "training text, one sentence a line").unit("FILE...");
//   if (!o.parse(argc, argv)) return 0;  // --help, --version, --dump-config, --completion
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/option_field.h"
#include "core/json.h"

namespace nine::app {

struct OptionData;

/// A declared flag. These functions add to its declaration. Bounds hold for each number of a pair.
class Option {
 public:
  explicit Option(OptionData& data) : data_(&data) {}

  /// low <= x <= high
  Option& range(double low, double high);
  /// low < x < high
  Option& range_open(double low, double high);
  /// low <= x < high, such as a dropout rate
  Option& range_from(double low, double high);
  Option& at_least(double low);
  Option& above(double low);
  /// Sets the only texts that a flag accepts: those of a std::string, or fewer than an
  /// enumeration's names.
  Option& choices(std::vector<std::string> words);
  /// Sets the placeholder of a value in the help: "FILE...", "tokens", "seconds".
  Option& unit(std::string text);
  /// Sets the text of the default in the help, if the field's value does not explain it: "all
  /// cores".
  Option& default_text(std::string text);
  /// Makes a command line without this flag a usage error.
  Option& required();
  /// Sets a check of the value of a std::string flag. The message of an Error that it throws
  /// becomes a usage error that names the flag.
  Option& check(std::function<void(const std::string&)> checker);
  /// Sets the name of this setting in errors of the libraries, such as "learning rate". run_main
  /// adds the flag to an error that mentions this name (apps/cli/setting_flags.h).
  Option& called(std::string words);
  /// Sets an older name of this flag, whose values had other words: {"bf16", "medium"}. Command
  /// lines and configurations may use the older name. Giving both names is a usage error.
  Option& older_name(std::string name, std::vector<std::pair<std::string, std::string>> words);

 private:
  OptionData* data_;
};

/// The flags of one program. The bound fields must outlive it. Built-in flags are --help (-h),
/// --version, --config, --dump-config and, for a program without commands, --completion.
class Options {
 public:
  /// `program` is the name that the user types ("lm_train", "bpe learn"). `version` returns the
  /// text of --version; null: there is no flag --version.
  Options(std::string program, std::string description, std::string (*version)() = nullptr);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// Starts a group: the help shows the flags that are added from here on under this title.
  void group(std::string title);

  /// Declares --name (words joined by dashes), bound to `field`, whose present value is the
  /// default. An enumeration accepts the names in its table.
  template <class T>
  Option add(const std::string& name, T& field, const std::string& help) {
    return add_field(name, OptionField{&field}, help, false);
  }
  template <HasTextForm T>
  Option add(const std::string& name, T& field, const std::string& help) {
    return add_field(name, keep(std::make_unique<TextFieldOf<T>>(field)), help, false);
  }

  /// Declares positional arguments, for std::string or std::vector<std::string>:
  /// add_positional("RUN", runs, "run directories").
  template <class T>
  Option add_positional(std::string name, T& field, std::string help) {
    return add_field(std::move(name), OptionField{&field}, std::move(help), true);
  }

  /// Allows keys in a --config file that are not flags, such as the keys that a run adds to its
  /// config.json.
  void ignore_in_config(std::vector<std::string> keys);

  /// Fills the fields: from the defaults, then from --config FILE.json, then from the command line.
  /// Returns false after it has answered --help, --version, --dump-config or --completion on `out`
  /// (standard output); the program must then exit with 0. Throws UsageError.
  [[nodiscard]] bool parse(int argc, const char* const* argv);
  [[nodiscard]] bool parse(const std::vector<std::string>& arguments, std::ostream& out);

  /// True if parse() has filled the fields, so that a later error may be about their values.
  bool parsed() const;

  /// True if the command line gave --name, or the configuration file gave it a value other than the
  /// default. Throws Error if the flag is not declared.
  bool was_set(std::string_view name) const;

  /// True also if the given value is the default.
  bool was_named(std::string_view name) const;

  /// True if --name should be derived from --other: --name was not given, or the configuration
  /// file's value of --name equals `times` its value of --other.
  bool follows(std::string_view name, std::string_view other, double times = 1) const;

  /// Returns the configuration file's value of --name; null if the file has none.
  Json config_value(std::string_view name) const;
  /// True if the command line gave --name, and the configuration file gave another value.
  bool replaces(std::string_view name) const;
  /// True if --name was not given, or the configuration file alone gave it, with the value `usual`.
  bool is_usual(std::string_view name, const Json& usual) const;

  /// Sets a function that parse() calls after it has filled the fields and before --dump-config
  /// prints them, for defaults that depend on other options.
  void on_filled(std::function<void()> resolve);

  /// Returns a stored configuration in which present names and words replace older ones.
  Json in_present_names(Json config) const;

  /// Returns the present values of all declared flags in the order of declaration; keys have
  /// underscores. A file with this text is a file for --config.
  Json to_json() const;
  /// Returns the same with the values that the fields had when they were declared.
  Json defaults_json() const;

  /// Returns the flags in the order of declaration, built-in flags first (apps/cli/option_data.h).
  std::vector<const OptionData*> declared() const;

  const std::string& program() const;
  /// Returns the text of --help.
  std::string help() const;

 private:
  Option add_field(std::string name, OptionField field, std::string help, bool positional);
  OptionField keep(std::unique_ptr<TextField> field);
  void add_built_in();
  OptionData& declare(std::string name, OptionField field, std::string help);
  void read_config(const std::string& file);
  std::vector<std::string> in_present_names(const std::vector<std::string>& arguments) const;
  void read_config_key(const std::string& key, const Json& value, const std::string& file);
  void apply_command_line(const std::vector<std::vector<std::string>>& texts, bool built_in);
  void require_given() const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nine::app
