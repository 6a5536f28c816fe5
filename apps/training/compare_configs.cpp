#include "apps/training/compare_configs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/option_data.h"
#include "core/error.h"
#include "core/json.h"

namespace nine::app {
namespace {

std::string value_text(const Json& value) {
  if (value.is_null()) return "not given";
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string())
    return value.get<std::string>().empty() ? "not given" : value.get<std::string>();
  if (!value.is_array()) return json_text(value);
  std::string out;
  for (const Json& item : value)
    out +=
        (out.empty() ? "" : ",") + (item.is_string() ? item.get<std::string>() : json_text(item));
  return out.empty() ? "not given" : out;
}

// A value and, where another one is of another JSON type, its own: `"0.1", a string,`.
std::string typed_text(const Json& value, const Json& other) {
  const std::string_view type = value.type_name();
  return value.is_null() || other.is_null() || type == other.type_name()
             ? value_text(value)
             : concat(json_text(value), type == "array" ? ", an " : ", a ", type, ",");
}

std::string difference(const std::string& key, const Json& now, const Json& stored,
                       const Json& defaults, std::string_view where) {
  if (const auto was = stored.find(key); was != stored.end())
    return *was == now ? std::string{}
                       : concat("--", flag_of(key), " was ", typed_text(*was, now), " ", where,
                                ", now ", value_text(now));
  if (const auto usual = defaults.find(key); usual != defaults.end() && *usual != now)
    return concat("--", flag_of(key), " did not exist when this run began, but is now ",
                  value_text(now));
  return {};
}

// Whether the inputs of a run are those that it was started with.
class InputComparison {
 public:
  InputComparison(const Json& stored, const Json& now, const RunInputs& inputs,
                  std::string_view where)
      : stored_(stored), now_(now), where_(where) {
    const Json resolved = stored.value("resolved", Json::object());
    if (const auto identity = resolved.find(kIdentity); identity != resolved.end()) {
      for (const auto& [key, value] : inputs.identity.items())
        if (identity->contains(key)) compare(key, (*identity)[key], value);
      return;
    }
    for (const RunInputs::Former& former : inputs.former)
      if (const auto was = resolved.find(former.key); was != resolved.end()) compare(former, *was);
  }

  /// Whether an option was compared here, so that its path does not matter.
  bool knows(const std::string& key) const {
    return std::find(known_.begin(), known_.end(), key) != known_.end();
  }
  /// What differs, as "--train was ...; ". What was built from a text, or made by --sample, is
  /// named only where no text and no option explains it.
  std::string differences(bool explained) const {
    return differences_.empty() && !explained ? of_built_ : differences_;
  }

 private:
  void compare(const std::string& input, const Json& was, const Json& is) {
    const bool config = input == config_key("init");
    const std::string key = config ? "init" : input;
    // A model to start from may have been trained on since, and a run that goes on needs none.
    if (key == "init" && path(stored_, key) == path(now_, key)) return;
    known_.push_back(key);
    if (was == is) return;
    const bool built = path(stored_, key).empty() && path(now_, key).empty();
    const char* const of = config ? " (checksum of its config.json " : " (checksum ";
    if (built)
      of_built_ += concat("what is taken from the other inputs because --", flag_of(key),
                          " is not given had the checksum ", json_text(was), ' ', where_, ", now ",
                          json_text(is), "; ");
    else
      differences_ +=
          concat("--", flag_of(key), " was ", value_text(path(stored_, key)), of, json_text(was),
                 ") ", where_, ", now ", value_text(path(now_, key)), of, json_text(is), "); ");
  }

  void compare(const RunInputs::Former& former, const Json& was) {
    if (was == former.checksum) {
      known_.insert(known_.end(), former.inputs.begin(), former.inputs.end());
      return;
    }
    std::string flags;
    for (const std::string& key : former.inputs) {
      if (!path(stored_, key).empty() || !path(now_, key).empty())
        flags += concat(flags.empty() ? "--" : ", --", flag_of(key));
    }
    differences_ += concat(flags, flags.empty() ? "" : ": ", former.key, " was ", json_text(was),
                           " ", where_, ", now ", former.checksum, "; ");
  }

  static Json path(const Json& config, const std::string& key) {
    Json value = config.value(key, Json());
    return is_empty_text(value) ? Json() : value;
  }

  const Json &stored_, &now_;
  std::string_view where_;
  std::vector<std::string> known_;
  std::string differences_, of_built_;
};

// As it comes back from config.json, which has neither bytes that are not UTF-8 (of a path, say)
// nor numbers that are not finite.
Json as_stored(const Json& config) { return parse_json(json_text(config)); }

}  // namespace

const std::vector<std::string>& keys_free_on_resume() {
  static const std::vector<std::string> keys{
      "after",     "threads", "keep",        "save_every",  "profile",   "run",
      "recompute", "restart", "tensorboard", "mpi_timeout", "other_gpu", "max_unknown"};
  return keys;
}

ConfigDifferences config_differences(const Json& stored, const Json& now,
                                     const std::vector<std::string>& free_keys,
                                     const Json& defaults, const RunInputs& inputs,
                                     std::string_view where) {
  ConfigDifferences out;
  const Json given = as_stored(now), usual = as_stored(defaults);
  const InputComparison compared(stored, given, inputs, where);
  for (const auto& [key, value] : given.items()) {
    if (std::find(free_keys.begin(), free_keys.end(), key) != free_keys.end()) continue;
    if (compared.knows(key)) continue;
    if (const std::string text = difference(key, value, stored, usual, where); !text.empty())
      out.options += text + "; ";
  }
  out.inputs = compared.differences(!out.options.empty());
  return out;
}

std::string compare_configs(const Json& stored, const Json& now,
                            const std::vector<std::string>& free_keys, const Json& defaults,
                            const RunInputs& inputs) {
  const auto [options, data] =
      config_differences(stored, now, free_keys, defaults, inputs, "in this run");
  if (options.empty() && data.empty()) return {};
  return concat(options, data,
                data.empty() ? "" : "give the files that this run began with, under any path, or ",
                "use --restart or another --run");
}

}  // namespace nine::app
