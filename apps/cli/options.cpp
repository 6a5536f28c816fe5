#include "apps/cli/options.h"

#include <algorithm>
#include <deque>
#include <iostream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/cli/command_line.h"
#include "apps/cli/completion.h"
#include "apps/cli/option_data.h"
#include "apps/cli/option_help.h"
#include "apps/cli/option_values.h"
#include "apps/cli/text_io.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/mpi_communicator.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine::app {
namespace {

using Strings = std::vector<std::string>;

std::string config_text(const std::string& file) {
  try {
    if (file != "-") return read_text_or_pipe(file);
    std::string text(std::istreambuf_iterator<char>(std::cin), {});
    if (text.empty() && process_number() > 0)
      throw UsageError(
          "--config -: mpirun gives standard input to one process alone: give a file, which every "
          "process reads");
    return text;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(concat("--config: ", e.what()));
  }
}

Json parse_config(const std::string& file, const std::string& text) {
  try {
    Json config = parse_json(text);
    if (!config.is_object())
      throw UsageError("must be a JSON object whose keys are flags, such as {\"lr\": 0.001}");
    return config;
  } catch (const UsageError& e) {
    throw UsageError(concat("--config ", input_name(file), ": ", e.what()));
  }
}

bool contains_flag(const Strings& arguments, std::string_view flag,
                   std::string_view short_flag = "--") {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == flag || argument == short_flag) return true;
  }
  return false;
}

UsageError both_names(const OptionData& option) {
  return UsageError(concat("--", option.older_name, " is the older name of ", option.typed(),
                           ": give one of them"));
}

}  // namespace

struct Options::State {
  std::string program, description;
  std::string (*version)() = nullptr;
  std::string group_title = "Options";
  std::deque<OptionData> options;  // a deque: Option points into it
  std::vector<std::unique_ptr<TextField>> text_fields;
  Json defaults = Json::object(), config = Json::object();  // config: of --config's file
  Strings ignored;
  std::string config_file, completion;
  std::function<void()> filled;
  bool help = false, show_version = false, dump = false;
  bool parsed = false;

  OptionList list() const {
    OptionList out;
    for (const OptionData& option : options) out.push_back(&option);
    return out;
  }
  OptionData* find(std::string_view name) {
    for (OptionData& option : options)
      if (option.name == name) return &option;
    return nullptr;
  }
  const OptionData& declared(std::string_view name) {
    const OptionData* option = find(name);
    require(option != nullptr, "no option --", name, " is declared in ", program);
    return *option;
  }
};

Option& Option::range(double low, double high) {
  data_->bounds = {low, high, false, false};
  return *this;
}
Option& Option::range_open(double low, double high) {
  data_->bounds = {low, high, true, true};
  return *this;
}
Option& Option::range_from(double low, double high) {
  data_->bounds = {low, high, false, true};
  return *this;
}
Option& Option::at_least(double low) {
  data_->bounds = {low, std::numeric_limits<double>::infinity(), false, false};
  return *this;
}
Option& Option::above(double low) {
  data_->bounds = {low, std::numeric_limits<double>::infinity(), true, false};
  return *this;
}
Option& Option::choices(std::vector<std::string> words) {
  data_->choices = std::move(words);
  return *this;
}
Option& Option::unit(std::string text) {
  data_->unit = std::move(text);
  return *this;
}
Option& Option::default_text(std::string text) {
  data_->default_text = std::move(text);
  return *this;
}
Option& Option::required() {
  data_->required = true;
  return *this;
}
Option& Option::check(std::function<void(const std::string&)> checker) {
  data_->check = std::move(checker);
  return *this;
}
Option& Option::called(std::string words) {
  data_->setting = std::move(words);
  return *this;
}

Option& Option::older_name(std::string name,
                           std::vector<std::pair<std::string, std::string>> words) {
  data_->older_name = std::move(name);
  data_->older_words = std::move(words);
  return *this;
}

Options::Options(std::string program, std::string description, std::string (*version)())
    : state_(std::make_unique<State>()) {
  state_->program = std::move(program);
  state_->description = std::move(description);
  state_->version = version;
  add_built_in();
}

Options::~Options() = default;

void Options::add_built_in() {
  State& s = *state_;
  declare("help", &s.help, "prints this page");
  if (s.version != nullptr) declare("version", &s.show_version, "prints the version");
  declare("config", &s.config_file,
          "reads options from a JSON file whose keys are the flags with underscores; flags on the "
          "command line override it; -: standard input")
      .unit = "FILE.json";
  declare("dump-config", &s.dump, "prints all options as a JSON file for --config and exits");
  if (s.program.find(' ') == std::string::npos) {  // of "bpe learn", bpe's own completes it
    declare("completion", &s.completion,
            "prints a script for this shell that completes command lines")
        .choices = {"bash"};
  }
  for (OptionData& option : s.options) {
    option.built_in = true;
    option.group = "General";
  }
}

OptionData& Options::declare(std::string name, OptionField field, std::string help) {
  OptionData option;
  option.name = std::move(name);
  option.field = field;
  option.help = std::move(help);
  option.group = state_->group_title;
  option.default_text = field_text(field);
  if (auto* const* text = std::get_if<std::string*>(&option.field))
    option.may_be_empty = (*text)->empty();
  if (auto* const* text = std::get_if<TextField*>(&option.field))
    option.choices = (*text)->choices();
  return state_->options.emplace_back(std::move(option));
}

OptionField Options::keep(std::unique_ptr<TextField> field) {
  return state_->text_fields.emplace_back(std::move(field)).get();
}

void Options::group(std::string title) { state_->group_title = std::move(title); }

Option Options::add_field(std::string name, OptionField field, std::string help, bool positional) {
  require(state_->find(name) == nullptr, "option --", name, " is declared twice in ",
          state_->program);
  OptionData& option = declare(std::move(name), field, std::move(help));
  option.positional = positional;
  if (!positional) state_->defaults[option.key()] = app::to_json(field);
  return Option(option);
}

void Options::ignore_in_config(std::vector<std::string> keys) { state_->ignored = std::move(keys); }

bool Options::parse(int argc, const char* const* argv) {
  return parse(Strings(argv + std::min(argc, 1), argv + argc), std::cout);
}

bool Options::parse(const std::vector<std::string>& arguments, std::ostream& out) {
  State& s = *state_;
  if (contains_flag(arguments, "--help", "-h")) {
    out << help();
    return false;
  }
  if (s.version != nullptr && contains_flag(arguments, "--version")) {
    out << s.version();
    return false;
  }
  const auto texts = read_command_line(s.list(), in_present_names(arguments));
  apply_command_line(texts, true);
  if (!s.completion.empty()) {
    out << bash_completion(s.program, s.list());
    return false;
  }
  if (s.find("config")->set) read_config(s.config_file);
  apply_command_line(texts, false);
  if (s.filled) s.filled();
  s.parsed = true;
  if (s.dump) {
    out << json_text(to_json(), 2) << '\n';
    return false;
  }
  require_given();
  return true;
}

// The built-in flags are applied first: --config is one of them, and the other flags override the
// values of its file.
void Options::apply_command_line(const std::vector<std::vector<std::string>>& texts,
                                 bool built_in) {
  for (size_t i = 0; i < texts.size(); ++i) {
    OptionData& option = state_->options[i];
    if (option.built_in != built_in || texts[i].empty()) continue;
    set_from_texts(option, texts[i]);
    option.named = option.typed_here = true;
  }
}

void Options::read_config(const std::string& file) {
  state_->config = in_present_names(parse_config(file, config_text(file)));
  for (const auto& [key, value] : state_->config.items())
    read_config_key(key, value, input_name(file));
}

Json Options::in_present_names(Json config) const {
  for (const OptionData& option : state_->options) {
    const auto older =
        option.older_name.empty() ? config.end() : config.find(key_of(option.older_name));
    if (older == config.end()) continue;
    if (config.contains(option.key())) throw both_names(option);
    const Json word =
        option.present_word(older->is_string() ? older->get<std::string>() : json_text(*older));
    config.erase(older);
    config[option.key()] = word;
  }
  return config;
}

Strings Options::in_present_names(const Strings& arguments) const {
  Strings out = arguments;
  for (const OptionData& option : state_->options) {
    if (option.older_name.empty()) continue;
    const std::string older = "--" + option.older_name;
    for (size_t i = 0; i < out.size() && out[i] != "--"; ++i) {
      const bool joined = out[i].starts_with(older + "=");
      if (!joined && out[i] != older) continue;
      if (contains_flag(arguments, option.typed()) ||
          std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
            return argument.starts_with(option.typed() + "=");
          }))
        throw both_names(option);
      if (joined) {
        out[i] = option.typed() + "=" + option.present_word(out[i].substr(older.size() + 1));
      } else {
        out[i] = option.typed();
        if (i + 1 < out.size()) out[i + 1] = option.present_word(out[i + 1]);
      }
    }
  }
  return out;
}

void Options::read_config_key(const std::string& key, const Json& value, const std::string& file) {
  Strings keys;
  for (OptionData& option : state_->options) {
    if (option.built_in || option.positional) continue;
    if (option.key() == key) {
      option.named = true;
      // A default need not lie within the option's bounds: -1 may stand for "not given".
      if (value != state_->defaults[key]) set_from_json(option, value, file);
      return;
    }
    keys.push_back(option.key());
  }
  if (std::find(state_->ignored.begin(), state_->ignored.end(), key) != state_->ignored.end())
    return;
  const std::string known = nearest(key, keys);
  throw UsageError(concat("unknown key \"", shortened(key), "\" in ", file,
                          known.empty() ? "; keys are the flags with underscores for dashes"
                                        : concat("; did you mean \"", known, "\"?")));
}

void Options::require_given() const {
  for (const OptionData& option : state_->options)
    if (option.required && !option.set)
      throw UsageError(concat(option.typed(), " is required: ", option.help));
  if (state_->config_file != "-") return;
  // Which has been read to its end.
  for (const OptionData& option : state_->options) {
    if (option.built_in || !option.names_files() || option.name == "output") continue;
    const Json value = app::to_json(option.field);
    if (value == "-" || (value.is_array() && std::count(value.begin(), value.end(), "-") > 0))
      throw UsageError(concat("--config and ", option.typed(),
                              " are both standard input: name a file for one of them"));
  }
}

bool Options::parsed() const { return state_->parsed; }

bool Options::was_set(std::string_view name) const { return state_->declared(name).set; }

bool Options::was_named(std::string_view name) const { return state_->declared(name).named; }

bool Options::follows(std::string_view name, std::string_view other, double times) const {
  const Json base = config_value(other);
  return is_usual(name, base.is_number() ? Json(times * base.get<double>()) : Json());
}

Json Options::config_value(std::string_view name) const {
  return state_->config.value(state_->declared(name).key(), Json());
}

bool Options::replaces(std::string_view name) const {
  const OptionData& option = state_->declared(name);
  const Json before = config_value(name);
  return option.typed_here && !before.is_null() && before != app::to_json(option.field);
}

bool Options::is_usual(std::string_view name, const Json& usual) const {
  const OptionData& option = state_->declared(name);
  if (!option.named || option.typed_here) return !option.named;
  return !usual.is_null() && config_value(name) == usual;
}

void Options::on_filled(std::function<void()> resolve) { state_->filled = std::move(resolve); }

Json Options::to_json() const {
  Json out = Json::object();
  for (const OptionData& option : state_->options)
    if (!option.built_in && !option.positional) out[option.key()] = app::to_json(option.field);
  return out;
}

Json Options::defaults_json() const { return state_->defaults; }

std::vector<const OptionData*> Options::declared() const { return state_->list(); }

const std::string& Options::program() const { return state_->program; }

std::string Options::help() const {
  auto options = state_->list();
  std::stable_partition(options.begin(), options.end(),
                        [](const OptionData* option) { return !option->built_in; });
  return help_page(state_->program, state_->description, options);
}

}  // namespace nine::app
