// A program's flags: declared once, bound to plain fields; from the declarations come parsing,
// checks, help, --config and the run's config.json.
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

/// A declared flag; these functions add to its declaration. Bounds hold for each of a pair's
/// numbers.
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
  /// The only texts that a flag takes: of a std::string, or fewer than an enumeration's names.
  Option& choices(std::vector<std::string> words);
  /// What a value is, in the help: "FILE...", "tokens", "seconds".
  Option& unit(std::string text);
  /// The default in the help, where the field's value would not explain it: "all cores".
  Option& default_text(std::string text);
  /// A command line without it is a usage error.
  Option& required();
  /// A check of a std::string flag's value, which throws an Error; its message becomes a usage
  /// error that names the flag.
  Option& check(std::function<void(const std::string&)> checker);
  /// The name of this setting in the libraries' errors, such as "learning rate": run_main adds the
  /// flag to an error that mentions it (apps/cli/setting_flags.h).
  Option& called(std::string words);
  /// An older name of this flag, whose values had other words: {"bf16", "medium"}. Command lines
  /// and configurations that have it mean this one; both at once are a usage error.
  Option& older_name(std::string name, std::vector<std::pair<std::string, std::string>> words);

 private:
  OptionData* data_;
};

/// The flags of one program. Fields bound to it must outlive it. Built in: --help (-h), --version,
/// --config, --dump-config, and of a program without commands --completion.
class Options {
 public:
  /// `program` is what the user types ("lm_train", "bpe learn"); `version` makes the text that
  /// --version prints, null: there is no such flag.
  Options(std::string program, std::string description, std::string (*version)() = nullptr);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// Starts a group: flags added from here stand under this title in the help.
  void group(std::string title);

  /// Declares --name (words joined by dashes), bound to `field`, whose value now is the default. An
  /// enumeration takes the names in its table.
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

  /// Keys that a --config file may have without being flags, such as those a run adds to its
  /// config.json.
  void ignore_in_config(std::vector<std::string> keys);

  /// Fills the fields: defaults, then --config FILE.json, then the command line. False when --help,
  /// --version, --dump-config or --completion was answered on `out` (standard output) and the
  /// program should exit with 0. Throws UsageError.
  [[nodiscard]] bool parse(int argc, const char* const* argv);
  [[nodiscard]] bool parse(const std::vector<std::string>& arguments, std::ostream& out);

  /// Whether parse() has filled the fields, so that a later error may be about their values.
  bool parsed() const;

  /// Whether the command line gave --name, or the configuration file a value that is not the
  /// default. Throws Error when no such flag is declared.
  bool was_set(std::string_view name) const;

  /// The same, and true too where the value given is the default.
  bool was_named(std::string_view name) const;

  /// Whether --name is to follow --other: it was not given, or only by a configuration file in
  /// which it follows, being `times` the number that --other has there.
  bool follows(std::string_view name, std::string_view other, double times = 1) const;

  /// Called when parse() has filled the fields, before --dump-config prints them: for defaults that
  /// depend on other options.
  void on_filled(std::function<void()> resolve);

  /// A stored configuration with present names and words in place of older ones.
  Json in_present_names(Json config) const;

  /// The fields' values now, of every declared flag in order of declaration, keys with underscores.
  /// A file of it is a --config.
  Json to_json() const;
  /// The same with the values that the fields had when they were declared.
  Json defaults_json() const;

  /// Each flag in order of declaration, built-in ones first (apps/cli/option_data.h).
  std::vector<const OptionData*> declared() const;

  const std::string& program() const;
  /// The text of --help.
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
